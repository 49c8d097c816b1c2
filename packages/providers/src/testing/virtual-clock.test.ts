import { describe, expect, test } from 'vitest';
import { VirtualClock } from './virtual-clock.ts';

describe('a virtual clock', () => {
  test('advances only on request', () => {
    const clock = new VirtualClock(1000);
    expect(clock.now()).toBe(1000);
    clock.advance(5);
    expect(clock.now()).toBe(1005);
  });

  test('runs due timers in order, each at its own time', () => {
    const clock = new VirtualClock(0);
    const ran: string[] = [];
    const note = (name: string) => () => ran.push(`${name} at ${clock.now()}`);
    clock.after(20, note('late'));
    clock.after(10, note('early'));
    clock.after(10, note('early too'));
    clock.after(21, note('not yet'));
    clock.advance(20);
    expect(ran).toEqual(['early at 10', 'early too at 10', 'late at 20']);
    expect(clock.now()).toBe(20);
    expect(clock.pending).toBe(1);
  });

  test('runs a timer that another timer set, if it is due', () => {
    const clock = new VirtualClock(0);
    const ran: number[] = [];
    clock.after(10, () => clock.after(5, () => ran.push(clock.now())));
    clock.advance(14);
    expect(ran).toEqual([]);
    clock.advance(1);
    expect(ran).toEqual([15]);
    expect(clock.pending).toBe(0);
  });

  test('does not run a cancelled timer', () => {
    const clock = new VirtualClock(0);
    const cancel = clock.after(10, () => expect.unreachable());
    expect(clock.pending).toBe(1);
    cancel();
    cancel();
    expect(clock.pending).toBe(0);
    clock.advance(100);
  });
});
