import type { UiChunk } from './ui-chunk.ts';

// The SDK refuses a whole stream for one of these keys, wherever it is, and a view must not end a chat.
const suspicious = /"(?:__proto__|constructor)":/;

/** A chunk as its client will read it: without the keys that it reads as an attack. */
export function readableLine(chunk: UiChunk): string {
  const line = JSON.stringify(chunk);
  if (!suspicious.test(line)) return line;
  return JSON.stringify(chunk, (_key, value: unknown) => withoutTraps(value));
}

function withoutTraps(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const kept = Object.entries(value).filter(([key, held]) => !isTrap(key, held));
  return Object.fromEntries(kept);
}

function isTrap(key: string, held: unknown): boolean {
  if (key === '__proto__') return true;
  const isObject = typeof held === 'object' && held !== null;
  return key === 'constructor' && isObject && Object.hasOwn(held, 'prototype');
}
