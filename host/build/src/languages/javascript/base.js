// Stands where a plugin will be: the first call of `init` brings its text, as a CommonJS module.
//
// What precedes is added by `host build`: promises.js, platform.js, failures.js, `imported`, the modules of the host by their names, and an export for each
// interface of the plugin, `offered` at each call.

let exported = null;

function offered(name) {
  if (exported === null) return { init: bring };
  return exported[name];
}

function bring(me, clusterSize, config) {
  const module = { exports: {} };
  const program = new Function("module", "exports", "require", config);
  program(module, module.exports, (name) => imported[name]);
  exported = module.exports;
  return [];
}
