// One HTML file with the page and a recording: it opens without a server.

import { element, type Recording } from "./recording";

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
  // Nothing in a script or a style ends its element.
  const script = (await asset("app.js")).replaceAll("</", "<\\/").replaceAll("<!--", "<\\!--");
  const style = (await asset("app.css")).replaceAll("</", "<\\/");
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
    '<div id="page"></div>',
    element(recording),
    `<script>${script}</script>`,
    "</body>",
    "</html>",
    "",
  ].join("\n");
}
