"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const last = data.steps.length;
  const hidden = new Set();
  let step = last;
  // The node whose state is shown; null for that of the step.
  let chosen = null;

  const made = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  const filled = (id, elements) => byId(id).replaceChildren(...elements);
  const kindOf = (number) => (number === 0 ? null : data.steps[number - 1].kind);
  const isHidden = (number) => hidden.has(kindOf(number));
  const nodeOf = (number) => (number === 0 ? 0 : data.steps[number - 1].node);
  const shownNode = () => (chosen === null ? nodeOf(step) : chosen);

  // The last step of a node up to this one; 0 is its start.
  const lastOf = (node, number) => {
    while (number > 0 && data.steps[number - 1].node !== node) number -= 1;
    return number;
  };

  const SIGNS = ["", "~", "+", "-"];
  const MARKS = ["same", "changed", "added", "removed"];

  const treeRow = ([depth, mark, name, value, old], isNow) => {
    const kept = isNow ? mark : 0;
    const row = made("div", "", "tree-row " + MARKS[kept]);
    row.style.setProperty("--depth", depth);
    row.append(made("span", SIGNS[kept], "sign"));
    if (name) row.append(made("span", name + ":", "field"));
    if (isNow && old !== undefined) row.append(made("del", old), made("span", "→", "arrow"));
    if (value) row.append(made(isNow && old !== undefined ? "ins" : "span", value));
    return row;
  };

  const showState = () => {
    const node = shownNode();
    const since = lastOf(node, step);
    const isNow = since === step && step > 0;
    const index = since === 0 ? data.init[node] : data.steps[since - 1].tree;
    const changes = isNow ? "before and after" : since > 0 ? "since step " + since : "since the start";
    byId("whose").textContent = "State of " + data.names[node] + ", " + changes;
    const rows = index === null ? null : data.trees[index];
    if (!rows) return filled("tree", [made("p", "left out, the page would be too large", "note")]);
    // What is gone is of interest in the step that removes it only.
    const there = rows.filter((row) => isNow || row[1] !== 3);
    filled("tree", there.map((row) => treeRow(row, isNow)));
    if (isNow && !there.some((row) => row[1] !== 0)) byId("tree").append(made("p", "the step changes nothing", "note"));
  };

  const FLIGHT_MAX = 500;

  const showFlight = () => {
    const rows = [];
    let count = 0;
    for (const [from, to, sent, since, end, fate, text, kind] of data.arrows) {
      if (hidden.has(kind) || since > step || (end !== null && end < step)) continue;
      const isGone = end === step;
      const isNew = since === step && step > 0;
      if (isGone && isNew) continue;
      count += isGone ? 0 : 1;
      if (rows.length >= FLIGHT_MAX) continue;
      const when = sent === 0 ? "the start" : "step " + sent;
      const words = data.names[from] + " → " + data.names[to] + ": " + data.texts[text] + ", of " + when;
      const again = since !== sent ? ", again" : "";
      const row = made("li", "", isGone ? "removed" : isNew ? "added" : "same");
      row.append(made("span", isGone ? "-" : isNew ? "+" : "", "sign"), made("span", words + again));
      if (isGone) row.append(made("span", fate === 1 ? "(received)" : "(lost)", "note"));
      rows.push(row);
    }
    byId("flying").textContent = "In flight: " + count;
    if (data.arrows_left_out > 0) rows.push(made("li", data.arrows_left_out + " messages are left out", "note"));
    filled("flight", rows);
  };

  const standing = (course) => {
    let now = course[0];
    for (const change of course) if (change[0] <= step) now = change;
    return now;
  };

  const showProperties = () => {
    document.querySelectorAll(".strip").forEach((strip, index) => {
      const [, word, why] = standing(data.courses[index]);
      const now = strip.querySelector(".now");
      now.textContent = why ? word + ": " + why : word;
      now.className = "now " + word.replace(" ", "-");
      strip.querySelector(".cursor").setAttribute("x", step);
    });
  };

  const showPlace = () => {
    byId("place").textContent = step === 0 ? "start" : "step " + step + " of " + last;
    byId("event").textContent = step === 0 ? "start" : step + ". " + data.steps[step - 1].text;
    const badges = [];
    if (step > 0 && step === data.critical) badges.push("the critical step");
    if (data.loop !== null && step > data.loop) badges.push("again and again");
    if (step > 0 && step <= data.prefix) badges.push("prefix");
    byId("badges").textContent = badges.join(", ");
    filled("effects", (step === 0 ? [] : data.steps[step - 1].lines).map((line) => made("li", line)));
    document.querySelectorAll(".now-shown").forEach((element) => element.classList.remove("now-shown"));
    const sign = byId("event-" + step);
    const item = document.querySelector('#steps > [data-step="' + step + '"]');
    if (item) item.classList.add("now-shown");
    if (!sign) return byId("drawing").scrollTo({ top: 0 });
    sign.classList.add("now-shown");
    sign.scrollIntoView({ block: "nearest", inline: "nearest" });
  };

  const show = (number) => {
    step = Math.min(Math.max(number, 0), last);
    showPlace();
    showState();
    showFlight();
    showProperties();
    history.replaceState(null, "", "#step-" + step);
  };

  // Steps that receive a hidden kind are passed over.
  const move = (by) => {
    let number = step + by;
    while (number > 0 && number <= last && isHidden(number)) number += by;
    if (number >= 0 && number <= last) show(number);
  };

  const choose = (node) => {
    chosen = node;
    byId("node").value = node === null ? "step" : String(node);
    showState();
  };

  const hide = (kind, isOff) => {
    if (isOff) hidden.add(kind);
    else hidden.delete(kind);
    document.querySelectorAll('[data-kind="' + kind + '"]').forEach((one) => one.classList.toggle("off", isOff));
    byId("kind-" + kind).checked = !isOff;
    showFlight();
  };

  const keys = {
    j: () => move(1),
    ArrowDown: () => move(1),
    ArrowRight: () => move(1),
    k: () => move(-1),
    ArrowUp: () => move(-1),
    ArrowLeft: () => move(-1),
    g: () => show(0),
    Home: () => show(0),
    G: () => show(last),
    End: () => show(last),
    n: () => choose((shownNode() + 1) % data.nodes),
    p: () => choose((shownNode() + data.nodes - 1) % data.nodes),
    f: () => choose(null),
    h: () => kindOf(step) !== null && hide(kindOf(step), true),
    H: () => [...hidden].forEach((kind) => hide(kind, false)),
    c: () => byId("changed").click(),
  };

  const numberOf = (hash) => {
    const found = /^#step-(\d{1,9})$/.exec(hash);
    return found ? Number(found[1]) : null;
  };

  const listen = () => {
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.target.closest("select, input, textarea") && event.key.length > 1) return;
      if (!Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a");
      const number = link ? numberOf(link.getAttribute("href")) : null;
      if (number === null) return;
      event.preventDefault();
      show(number);
    });
    window.addEventListener("hashchange", () => {
      const number = numberOf(location.hash);
      if (number !== null) show(number);
    });
    for (const [id, key] of [["first", "g"], ["back", "k"], ["next", "j"], ["end", "G"]]) {
      byId(id).addEventListener("click", () => keys[key]());
    }
    byId("node").addEventListener("change", (event) => {
      choose(event.target.value === "step" ? null : Number(event.target.value));
    });
    byId("changed").addEventListener("change", (event) => byId("tree").classList.toggle("only", event.target.checked));
    document.querySelectorAll(".strip svg").forEach((strip) => {
      strip.addEventListener("click", (event) => {
        const { left, width } = strip.getBoundingClientRect();
        show(Math.floor(((event.clientX - left) / width) * (last + 1)));
      });
    });
  };

  const begin = () => {
    // The page does not jump to the list where the script shows a step.
    document.querySelectorAll("#steps > [data-step]").forEach((item) => item.removeAttribute("id"));
    document.querySelectorAll("[hidden]").forEach((element) => element.removeAttribute("hidden"));
    const option = (value, text) => Object.assign(made("option", text), { value });
    const nodes = data.names.map((name, node) => option(String(node), name));
    filled("node", [option("step", "node of the step"), ...nodes]);
    filled("kinds", data.kinds.map((name, kind) => {
      const box = Object.assign(made("input"), { type: "checkbox", id: "kind-" + kind, checked: true });
      box.addEventListener("change", () => hide(kind, !box.checked));
      const label = made("label");
      label.append(box, made("span", name));
      return label;
    }));
    listen();
    const number = numberOf(location.hash);
    show(number === null ? last : number);
  };

  begin();
})();
