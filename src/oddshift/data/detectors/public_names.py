"""Common given names and surnames of many origins, and large cities: they belong to nobody in particular."""

from __future__ import annotations

_GIVEN = (
    "James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan Joseph "
    "Jessica Thomas Sarah Charles Karen Daniel Lisa Matthew Nancy Anthony Betty Steven Sandra Paul Ashley Andrew Emily "
    "Joshua Kimberly Kenneth Donna Kevin Michelle Brian Carol George Amanda Edward Melissa Ronald Deborah Timothy "
    "Stephanie Fatima Mohammed Aisha Omar Yusuf Leila Hassan Amina Wei Mei Jing Hiroshi Yuki Kenji Sakura Min-jun "
    "Priya Raj Ananya Arjun Deepa Vikram Sofia Mateo Camila Diego Valentina Santiago Lucia Alejandro Olga Ivan Natasha "
    "Dmitri Katarzyna Piotr Zofia Giulia Marco Chiara Luca Ingrid Lars Astrid Sven Amara Chidi Ngozi Kwame Sipho"
)
_FAMILY = (
    "Smith Johnson Williams Brown Jones Miller Davis Wilson Anderson Taylor Thomas Moore Jackson Martin Thompson White "
    "Harris Clark Lewis Robinson Walker Allen Wright Scott Adams Baker Nelson Hill Campbell Mitchell Roberts Carter "
    "Phillips Evans Turner Parker Collins Edwards Stewart Morris Murphy Rogers Cooper Peterson Bailey Kelly Howard "
    "Garcia Rodriguez Martinez Hernandez Lopez Gonzalez Perez Sanchez Ramirez Torres Rivera Silva Santos Oliveira "
    "Khan Ahmed Hussain Rahman Haddad Nasser Patel Singh Sharma Gupta Reddy Iyer Wang Chen Zhang Huang Nguyen Tran Kim "
    "Park Choi Tanaka Suzuki Watanabe Yamamoto Ivanov Petrov Kowalski Nowak Novak Horvat Rossi Ferrari Schmidt Mueller "
    "Schneider Hansen Johansson Okafor Adeyemi Mensah Dlamini Nkosi Abebe O'Brien McCarthy"
)
_PLACES = (
    "London Paris Berlin Madrid Rome Vienna Warsaw Prague Lisbon Dublin Oslo Helsinki Athens Cairo Lagos Nairobi Accra "
    "Johannesburg Casablanca Istanbul Tehran Baghdad Karachi Delhi Mumbai Dhaka Bangkok Manila Jakarta Singapore Seoul "
    "Tokyo Osaka Beijing Shanghai Sydney Melbourne Auckland Toronto Montreal Vancouver Chicago Houston Boston Seattle "
    "Denver Atlanta Miami Lima Bogota Santiago Havana"
)

GIVEN_NAMES = tuple(_GIVEN.split())
"""Given names."""

FAMILY_NAMES = tuple(_FAMILY.split())
"""Surnames."""

PLACE_NAMES = tuple(_PLACES.split())
"""Large cities."""
