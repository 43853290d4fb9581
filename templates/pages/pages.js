"use strict";
// Pages work without this: it tries a topic as one types, copies lines of configuration, presses
// the button of an address that logs in, and suggests time zones, the browser's own first.

document.querySelector("form[data-submit]")?.submit();

const form = document.querySelector("form[data-try]");
if (form) {
  const input = form.elements.q;
  const results = document.getElementById("results");
  let wanted = input.value;
  let shown = input.value;
  let busy = false;

  // One request at a time: what was typed meanwhile is asked for when it is answered.
  const ask = async () => {
    if (busy || wanted === shown) return;
    busy = true;
    const query = wanted;
    try {
      const answer = await fetch(`/try?part=results&q=${encodeURIComponent(query)}`);
      if (answer.ok || [400, 413].includes(answer.status)) {
        results.innerHTML = await answer.text();
        // For screen readers the count is enough: not every paper again with each letter.
        const count = results.querySelector(".count, .fault");
        document.getElementById("announced").textContent = count ? count.textContent : "";
        history.replaceState(null, "", query ? `/try?q=${encodeURIComponent(query)}` : "/try");
        offerCopies();
      }
    } finally {
      shown = query;
      busy = false;
      if (wanted !== shown) ask();
    }
  };
  let timer;
  input.addEventListener("input", () => {
    wanted = input.value;
    clearTimeout(timer);
    timer = setTimeout(ask, 250);
  });
}

function offerCopies() {
  for (const lines of document.querySelectorAll("[data-copy]")) {
    if (lines.nextElementSibling || !navigator.clipboard) continue;
    const button = document.createElement("button");
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(lines.textContent);
      button.textContent = "Copied";
    });
    lines.after(button);
  }
}
offerCopies();

const zone = document.querySelector("form.zone");
if (zone) {
  const input = zone.elements.zone;
  const suggest = () => {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const all = Intl.supportedValuesOf ? Intl.supportedValuesOf("timeZone") : [];
    const list = document.createElement("datalist");
    list.id = "zones";
    list.append(...[...new Set([own, "UTC", ...all])].map((name) => new Option(name)));
    input.after(list);
    input.setAttribute("list", list.id);
  };
  input.addEventListener("focus", suggest, { once: true });
  // What was typed to try a topic is in the address by now.
  zone.addEventListener("submit", () => {
    if (form) zone.elements.next.value = location.pathname + location.search;
  });
}
