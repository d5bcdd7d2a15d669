"""Names of columns that suggest a role, in small letters, without marks and endings such as `_id`."""

from __future__ import annotations

WEAK_TEXT = ("comment", "comments", "description", "note", "notes", "remark", "remarks")
TEXT = ("text", "body", "message", "content", "comment", "review", "description", "note", "notes", "title", "subject")
PEOPLE = (
    *("user", "userid", "uid", "customer", "client", "patient", "person", "participant", "respondent", "student"),
    *("employee", "subject", "subjid", "individual", "pupil", "worker", "nr", "hhid", "idcode"),
)
"""Names of columns that stand for people: few of them are few people, and not a category."""
USER = (
    *PEOPLE,
    *("author", "sender", "account", "member", "device", "driver", "vehicle", "taxi", "household", "family"),
    *("article", "school", "clinic", "hospital", "ward"),
)
NAMES = ("name", "firstname", "lastname", "surname", "fullname", "username", "login")
CONTACTS = (
    *("email", "mail", "emailaddress", "phone", "phonenumber", "telephone", "mobile", "address", "street", "ssn"),
    *("passport", "iban", "url", "website", "ip", "ipaddress"),
)
LATITUDE, LONGITUDE = ("lat", "latitude"), ("lon", "lng", "long", "longitude")
TIME = ("timestamp", "time", "datetime", "date", "when", "ts")
TRIP = ("trip", "tripid", "journey", "track", "trajectory", "session", "route", "voyage", "ride")

MOVERS = (
    *("icao24", "icao", "mmsi", "imo", "imei", "vessel", "ship", "aircraft", "truck", "bus", "car", "bike"),
    *("plate", "licenseplate", "licenceplate", "tailnumber", "callsign", "animal", "individual", "bird", "object"),
    *("objectid", "mover", "tracker", "phone"),
)
"""Names of columns that say whose fixes these are, in addition to those that say whose rows a table has."""
