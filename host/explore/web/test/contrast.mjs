// Contrast of the texts in sight, as WCAG 2.2 computes it; runs in the page.

/** Texts whose contrast is below the least, as `text: ratio`. What is disabled, or drawn faint since it is not the case yet, is left out. */
export function lowContrast(least) {
  const parse = (colour) => {
    const [r, g, b, a = 1] = (/rgba?\(([^)]+)\)/.exec(colour)?.[1] ?? "0,0,0,0").split(/[,/\s]+/).filter(Boolean).map(Number);
    return { r, g, b, a };
  };
  const over = (top, below) => ({
    r: top.r * top.a + below.r * (1 - top.a),
    g: top.g * top.a + below.g * (1 - top.a),
    b: top.b * top.a + below.b * (1 - top.a),
    a: 1,
  });
  const linear = (part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ({ r, g, b }) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ratio = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      layers.push(parse(style.backgroundColor));
      const gradient = /gradient\(.*?(rgba?\([^)]+\))/.exec(style.backgroundImage)?.[1];
      if (gradient) layers.push(parse(gradient));
    }
    // Texts of the drawing: the row of the present step lies behind them.
    if (element.closest(".event.now")) layers.push(parse(getComputedStyle(document.querySelector(".now-row")).fill));
    return layers.reverse().reduce((below, top) => over(top, below), { r: 255, g: 255, b: 255, a: 1 });
  };
  const faint = ".later, .ghost, .outside, :disabled, [aria-hidden=true] .sign, option, dialog:not([open]) *, .only-read, title";
  const low = [];
  let count = 0;
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.textContent.trim()).join("");
    const { width, height } = element.getBoundingClientRect();
    if (text === "" || width === 0 || height === 0 || element.closest(faint)) continue;
    const style = getComputedStyle(element);
    if (style.visibility === "hidden" || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
    count += 1;
    const colour = parse(element instanceof SVGElement ? style.fill : style.color);
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    const below = ground(element);
    const found = ratio(over({ ...colour, a: colour.a * opacity }, below), below);
    if (found < least) low.push(`${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} "${text.slice(0, 30)}": ${found.toFixed(2)}`);
  }
  return { low, count };
}
