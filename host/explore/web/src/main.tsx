// The page of `host explore`.

import { render } from "preact";

import { Explorer } from "./model/explorer";
import { App } from "./page/App";
import { listen } from "./page/keys";

const explorer = new Explorer();
const page = document.getElementById("page");

if (page) {
  page.replaceChildren();
  render(<App explorer={explorer} />, page);
  listen(explorer);
  window.addEventListener("hashchange", () => void explorer.linked());
  // A file that is dropped anywhere is opened, and never replaces the page.
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) void explorer.files.open(file);
  });
  const print = window.matchMedia("print");
  const printing = (isPrinting: boolean) => {
    explorer.isPrinting = isPrinting;
    explorer.core.changed();
  };
  print.addEventListener("change", () => printing(print.matches));
  window.addEventListener("beforeprint", () => printing(true));
  window.addEventListener("afterprint", () => printing(false));
  void explorer.begin();
}
