// Stands where a plugin will be: the first call of `init` brings its text, as a CommonJS module.
//
// What precedes is added by `host build`: `imported`, the modules of the host by their names, and an export for each interface of the
// plugin, made by `later`.

/** Stands for an object that the plugin exports. The engine looks its functions up at each call. */
function later(name) {
  return new Proxy({}, { get: (_, called) => (...given) => offered(name)[called](...given) });
}

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
