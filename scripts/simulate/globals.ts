import { createHash } from 'node:crypto';
import { Randomness } from '../chaos/randomness.ts';
import type { World } from './world.ts';

// The real functions for time and randomness. A simulation replaces them while it runs. So the
// programs under test can use their defaults: the system clock, the monotonic clock, and random
// ids.

const real = {
  Date: globalThis.Date,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  random: Math.random,
};

/** A timer of the simulation, with the methods of Node's timers. */
class Timer {
  cancel: () => void = () => {};
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
}

/**
 * Installs the virtual time and randomness of a world. Code outside of the world's events still
 * uses the real functions. Returns a function that restores everything.
 */
export function installGlobals(world: World, seed: number): () => void {
  const random = new Randomness(seed);
  const now = () => (world.current === undefined ? real.Date.now() : world.timeOf(world.current));
  const undo = [
    replace(globalThis, timers(world)),
    replace(globalThis, { Date: virtualDate(now) }),
    replace(Math, { random: () => (world.current === undefined ? real.random() : random.next()) }),
    replace(performance, { now: () => world.now }),
    replace(crypto, {
      getRandomValues: (bytes: ArrayBufferView) => fill(bytes, random),
      randomUUID: () => randomUuid(random),
    }),
    // The real function computes in a separate thread and answers at a time that the seed cannot
    // determine. So it is replaced.
    replace(crypto.subtle, {
      digest: async (_: string, bytes: Uint8Array) =>
        new Uint8Array(createHash('sha256').update(bytes).digest()).buffer,
    }),
    replace(process, { hrtime: () => [Math.floor(world.now / 1000), (world.now % 1000) * 1e6] }),
  ];
  const onRejection = (error: unknown) => {
    const { current } = world;
    // If the program has crashed, it cannot handle a rejection. So the rejection is ignored.
    if (current?.isUp) world.fail(`${current.name}: unhandled rejection: ${describe(error)}`);
  };
  process.on('unhandledRejection', onRejection);
  return () => {
    for (const restore of undo.reverse()) restore();
    process.off('unhandledRejection', onRejection);
  };
}

function timers(world: World): object {
  const start = (label: string, ms: number, isRepeated: boolean, run: () => void) => {
    const timer = new Timer();
    const { current } = world;
    if (current === undefined) throw new Error('A timer needs a machine');
    const arm = () => {
      timer.cancel = world.schedule(current, ms, label, () => {
        if (isRepeated) arm();
        run();
      });
    };
    arm();
    return timer;
  };
  const stop = (timer: unknown, otherwise: (timer: never) => void) =>
    timer instanceof Timer ? timer.cancel() : otherwise(timer as never);
  type Callback = (...args: unknown[]) => void;
  return {
    setTimeout: (run: Callback, ms = 0, ...args: unknown[]) =>
      world.current === undefined
        ? real.setTimeout(run, ms, ...args)
        : start('timer', Math.max(1, ms), false, () => run(...args)),
    setInterval: (run: Callback, ms = 0, ...args: unknown[]) =>
      world.current === undefined
        ? real.setInterval(run, ms, ...args)
        : start('interval', Math.max(1, ms), true, () => run(...args)),
    setImmediate: (run: Callback, ...args: unknown[]) =>
      world.current === undefined
        ? real.setImmediate(run, ...args)
        : start('immediate', 0, false, () => run(...args)),
    clearTimeout: (timer: unknown) => stop(timer, real.clearTimeout),
    clearInterval: (timer: unknown) => stop(timer, real.clearInterval),
    clearImmediate: (timer: unknown) => stop(timer, real.clearImmediate),
  };
}

function virtualDate(now: () => number): DateConstructor {
  return new Proxy(real.Date, {
    construct: (target, args, self) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, self),
    get: (target, key, self) => (key === 'now' ? now : Reflect.get(target, key, self)),
  });
}

function fill<View extends ArrayBufferView>(view: View, random: Randomness): View {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  for (let at = 0; at < bytes.length; at++) bytes[at] = random.below(256);
  return view;
}

function randomUuid(random: Randomness): string {
  const hex = Array.from({ length: 32 }, () => random.below(16).toString(16)).join('');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-a$4-$5');
}

/** Replaces properties of an object. Returns a function that restores them. */
function replace(target: object, properties: object): () => void {
  const before = Object.keys(properties).map(
    (name) => [name, Object.getOwnPropertyDescriptor(target, name)] as const,
  );
  for (const [name, value] of Object.entries(properties))
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
  return () => {
    for (const [name, descriptor] of before)
      if (descriptor === undefined) Reflect.deleteProperty(target, name);
      else Object.defineProperty(target, name, descriptor);
  };
}

/** Returns an error as one line. */
export function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
