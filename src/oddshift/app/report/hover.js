"use strict";
// Values of a mark on hover or focus; arrow keys go from mark to mark; printing opens every table.
(() => {
  const tip = document.getElementById("tip");
  let shown = null;

  const place = () => {
    if (!shown) return;
    const at = shown.getBoundingClientRect();
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const above = at.top - tip.offsetHeight - 8;
    tip.style.left = `${Math.max(8, Math.min(at.left + at.width / 2 - tip.offsetWidth / 2, room))}px`;
    tip.style.top = `${above > 8 ? above : at.bottom + 8}px`;
  };

  const show = (spot) => {
    shown = spot;
    tip.textContent = spot.getAttribute("aria-label").split("; ").join("\n");
    tip.hidden = false;
    place();
  };

  const hide = () => {
    shown = null;
    tip.hidden = true;
  };

  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  for (const picture of document.querySelectorAll("svg")) {
    const spots = [...picture.querySelectorAll(".spot")];
    const go = (from, to) => {
      from.setAttribute("tabindex", "-1");
      to.setAttribute("tabindex", "0");
      to.focus();
    };
    spots.forEach((spot, number) => {
      spot.addEventListener("pointerenter", () => show(spot));
      spot.addEventListener("pointerleave", hide);
      spot.addEventListener("focus", () => show(spot));
      spot.addEventListener("blur", hide);
      spot.addEventListener("keydown", (event) => {
        if (event.key === "Escape") hide();
        if (!(event.key in steps)) return;
        event.preventDefault();
        go(spot, spots[(number + steps[event.key] + spots.length) % spots.length]);
      });
    });
  }
  document.addEventListener("scroll", place, { passive: true });

  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened.push(...document.querySelectorAll("details:not([open])"));
    for (const part of opened) part.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const part of opened) part.open = false;
    opened = [];
  });
})();
