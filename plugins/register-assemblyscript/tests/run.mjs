// Runs each function that tests/register.ts exports, in an instance of its own.

import { readFileSync } from "node:fs";
import { test } from "node:test";

const module = new WebAssembly.Module(readFileSync("target/tests.wasm"));
const tests = WebAssembly.Module.exports(module).filter(({ kind }) => kind === "function");

for (const { name } of tests) {
  test(name, () => {
    // A string of AssemblyScript: UTF-16, its length in bytes before it.
    const text = (at) => {
      const { buffer } = instance.exports.memory;
      return Buffer.from(buffer, at, new Uint32Array(buffer, at - 4, 1)[0]).toString("utf16le");
    };
    const abort = (message, file, line) => {
      throw new Error(`${text(message)} (${text(file)}:${line})`);
    };
    const environment = { choose: () => 0, log: () => {} };
    const instance = new WebAssembly.Instance(module, { env: { abort }, "host:protocol/environment@0.1.0": environment });
    instance.exports[name]();
  });
}
