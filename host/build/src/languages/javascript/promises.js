// Promises with a queue that is empty whenever the host gets an answer: the engine would keep what is due for ever.
//
// `host build` has esbuild write functions that are asynchronous as generators, so that they use these, too.

const promises = (() => {
  const queue = [];
  // Rejected, and handed to no function so far.
  const unhandled = new Set();
  const states = new WeakMap();

  class Promise {
    constructor(run) {
      if (typeof run !== "function") throw new TypeError(`a promise is made of a function, not of ${typeof run}`);
      states.set(this, { state: "pending", value: undefined, reactions: [] });
      begin(this, run);
    }
    then(fulfilled, rejected) {
      unhandled.delete(this);
      const own = states.get(this);
      return new this.constructor((resolve, reject) => {
        const by = (handler, otherwise) => (value) => {
          try {
            typeof handler === "function" ? resolve(handler(value)) : otherwise(value);
          } catch (error) {
            reject(error);
          }
        };
        const reaction = { fulfilled: by(fulfilled, resolve), rejected: by(rejected, reject) };
        if (own.state === "pending") own.reactions.push(reaction);
        else queue.push(() => reaction[own.state](own.value));
      });
    }
    catch(rejected) {
      return this.then(undefined, rejected);
    }
    finally(run) {
      const after = () => this.constructor.resolve(typeof run === "function" ? run() : undefined);
      const thrown = (error) => {
        throw error;
      };
      return this.then((value) => after().then(() => value), (error) => after().then(() => thrown(error)));
    }
    get [Symbol.toStringTag]() {
      return "Promise";
    }
    static resolve(value) {
      return states.has(value) && value.constructor === this ? value : new this((resolve) => resolve(value));
    }
    static reject(error) {
      return new this((_, reject) => reject(error));
    }
    static withResolvers() {
      const ways = {};
      ways.promise = new this((resolve, reject) => Object.assign(ways, { resolve, reject }));
      return ways;
    }
    static try(run, ...given) {
      return new this((resolve) => resolve(run(...given)));
    }
    static race(all) {
      return new this((resolve, reject) => {
        for (const one of all) this.resolve(one).then(resolve, reject);
      });
    }
    static all(all) {
      return gathered(this, all, (one, keep, reject) => one.then(keep, reject));
    }
    static allSettled(all) {
      const kept = (one, keep) =>
        one.then((value) => keep({ status: "fulfilled", value }), (reason) => keep({ status: "rejected", reason }));
      return gathered(this, all, kept);
    }
    static any(all) {
      return new this((resolve, reject) => {
        const errors = gathered(this, all, (one, keep) => one.then(resolve, keep));
        errors.then((errors) => reject(new AggregateError(errors, "all promises were rejected")));
      });
    }
  }

  function begin(promise, run) {
    let isDone = false;
    const once = (settle) => (value) => {
      if (!isDone) {
        isDone = true;
        settle(promise, value);
      }
    };
    const [resolve, reject] = [once(resolved), once((promise, error) => settled(promise, "rejected", error))];
    try {
      run(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  function resolved(promise, value) {
    if (value === promise) return settled(promise, "rejected", new TypeError("a promise cannot wait for itself"));
    let then;
    try {
      if ((typeof value === "object" && value !== null) || typeof value === "function") then = value.then;
    } catch (error) {
      return settled(promise, "rejected", error);
    }
    if (typeof then !== "function") return settled(promise, "fulfilled", value);
    queue.push(() => begin(promise, (resolve, reject) => then.call(value, resolve, reject)));
  }

  function settled(promise, state, value) {
    const own = states.get(promise);
    const reactions = own.reactions;
    Object.assign(own, { state, value, reactions: [] });
    if (state === "rejected" && reactions.length === 0) unhandled.add(promise);
    for (const reaction of reactions) queue.push(() => reaction[state](value));
  }

  /** The promise of a list: `each` is told how to keep its part. */
  function gathered(of, all, each) {
    return new of((resolve, reject) => {
      const kept = [];
      let missing = 1;
      const part = () => --missing === 0 && resolve(kept);
      let index = 0;
      for (const one of all) {
        const at = index++;
        missing++;
        kept[at] = undefined;
        each(of.resolve(one), (value) => ((kept[at] = value), part()), reject);
      }
      part();
    });
  }

  /** What a call has led to, once all that was due has run. A promise that nothing keeps is a wait for something from outside. */
  function settle(answer, called) {
    while (queue.length > 0) queue.shift()();
    const own = states.get(answer);
    if (own !== undefined) unhandled.delete(answer);
    const [lost] = unhandled;
    if (lost !== undefined) throw states.get(lost).value;
    if (own === undefined) return answer;
    if (own.state === "pending") throw new Platform(`a wait: ${called} awaits what no call brings`);
    if (own.state === "rejected") throw own.value;
    return own.value;
  }

  const queueMicrotask = (run) => void queue.push(run);
  return { Promise, queueMicrotask, settle };
})();
