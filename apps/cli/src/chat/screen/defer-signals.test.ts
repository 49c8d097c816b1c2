import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { deferSignals, type SignalProcess } from './defer-signals.ts';

/** A process that only records the signals that are sent to it. */
class FakeProcess extends EventEmitter implements SignalProcess {
  readonly pid = 42;
  readonly sent: string[] = [];

  kill(pid: number, signal: NodeJS.Signals): void {
    this.sent.push(`${pid} ${signal}`);
  }
}

test('ignores the first signal, and ends the process on the second', () => {
  const process = new FakeProcess();
  deferSignals(process);
  process.emit('SIGTERM', 'SIGTERM');
  expect(process.sent).toEqual([]);
  expect(process.listenerCount('SIGTERM')).toBe(1);
  process.emit('SIGINT', 'SIGINT');
  expect(process.sent).toEqual(['42 SIGINT']);
  expect(process.listenerCount('SIGINT') + process.listenerCount('SIGTERM')).toBe(0);
});

test('removes its listeners on release', () => {
  const process = new FakeProcess();
  deferSignals(process)();
  expect(process.eventNames()).toEqual([]);
});
