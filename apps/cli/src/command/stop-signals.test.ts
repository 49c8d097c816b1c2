import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { stopSignals } from './stop-signals.ts';

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s stops what runs, and for the next signal nobody listens',
  (name) => {
    const process = new EventEmitter();
    const signal = stopSignals(process);
    expect(signal.aborted).toBe(false);
    process.emit(name);
    expect(signal.aborted).toBe(true);
    expect(process.eventNames()).toEqual([]);
  },
);
