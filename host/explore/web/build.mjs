// Builds what the crate that writes pages has of this one; with --check only says whether that is what the sources give.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const DIST = path.join(here, "../../inspect/src/page/dist");
const APP_BYTES_MAX = 120_000;

const bundle = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  outdir: DIST,
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});
const styles = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/styles/app.css" },
  outdir: DIST,
  bundle: true,
  minify: true,
  write: false,
  charset: "utf8",
  logLevel: "warning",
});

const files = new Map();
for (const file of [...bundle.outputFiles, ...styles.outputFiles]) files.set(path.basename(file.path), inline(file.text));
files.set("index.html", await readFile(path.join(here, "src/index.html"), "utf8"));

/** The same program, which a file of a bundle can have in an element: nothing in it ends the element. Only texts have these letters. */
function inline(text) {
  return text.replaceAll("</", "<\\/").replaceAll("<!--", "<\\!--").replaceAll("<script", "<\\script");
}

const bytes = Buffer.byteLength(files.get("app.js"));
if (bytes > APP_BYTES_MAX) {
  console.error(`app.js has ${bytes} bytes, and at most ${APP_BYTES_MAX} are allowed`);
  process.exit(1);
}

if (process.argv.includes("--check")) {
  const stale = [];
  for (const [name, text] of files) {
    const there = await readFile(path.join(DIST, name), "utf8").catch(() => null);
    if (there !== text) stale.push(name);
  }
  if (stale.length > 0) {
    console.error(`dist is older than the sources: ${stale.join(", ")}; npm run build`);
    process.exit(1);
  }
} else {
  await mkdir(DIST, { recursive: true });
  for (const [name, text] of files) await writeFile(path.join(DIST, name), text);
  console.log(`dist: app.js ${bytes} bytes, app.css ${Buffer.byteLength(files.get("app.css"))} bytes`);
}
