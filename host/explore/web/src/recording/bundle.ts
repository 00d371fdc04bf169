// One HTML file with the page and a recording: it opens without a server.

import type { Place } from "../api";
import { element, packed, type Recording } from "./recording";

async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return `'sha256-${btoa(String.fromCharCode(...bytes))}'`;
}

async function asset(name: string): Promise<string> {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name} is not there`);
  return response.text();
}

export async function bundle(recording: Recording): Promise<string> {
  // Nothing in them ends their elements: the build sees to that.
  const [script, style] = [await asset("app.js"), await asset("app.css")];
  const policy = `default-src 'none'; script-src ${await digest(script)}; style-src ${await digest(style)}; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'`;
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    "<title>host explore</title>",
    '<link rel="icon" href="data:,">',
    `<style>${style}</style>`,
    "</head>",
    "<body>",
    `<div id="page"><noscript>${reading(recording)}</noscript></div>`,
    element(packed(recording)),
    `<script>${script}</script>`,
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

/** The steps as plain text, for reading without a script. */
function reading({ session, states }: Recording): string {
  const steps = new Map(states.map(({ step }) => [step.place, step]));
  const item = (place: Place) => {
    const step = steps.get(place);
    const lines = (step?.lines ?? []).map((line) => `<li>${escaped(line)}</li>`).join("");
    return `<li>${escaped(step?.event?.text ?? "start")}<ul>${lines}</ul></li>`;
  };
  const verdict = (session.verdict ?? []).map((line) => `<p>${escaped(line)}</p>`).join("");
  return `<h1>${escaped(session.title)}</h1>${verdict}<ol start="0">${session.line.map(item).join("")}</ol>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
