import { setTimeout as after } from 'node:timers/promises';
import { isMillraceError } from '@millrace/core';
import type { LivingSignals } from './living.ts';

/** How long is waited before it is tried again: soon at first, then every second. */
const [firstMs, longestMs] = [50, 1_000];

/**
 * Takes a session when it is free: when whoever drives it is through, or its lease ended because it died.
 * Whoever is told to stop meanwhile has said nothing, and throws what it was told.
 */
export async function whenFree<T>(
  take: () => Promise<T>,
  { signal, leave }: LivingSignals,
  onHeld: (holder: string) => void = () => {},
): Promise<T> {
  const stops = AbortSignal.any([leave, signal]);
  for (let waitMs = firstMs; ; waitMs = Math.min(2 * waitMs, longestMs)) {
    stops.throwIfAborted();
    try {
      return await take();
    } catch (error) {
      if (!isMillraceError(error) || error.code !== 'held') throw error;
      onHeld(String(error.place['holder']));
    }
    // Told to stop, it wakes up and throws above.
    await after(waitMs, undefined, { signal: stops }).catch(() => {});
  }
}
