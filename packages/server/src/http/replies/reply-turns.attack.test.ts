import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@millrace/log';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ReplyTurns } from './reply-turns.ts';
import { UnreadReplies } from './unread-replies.ts';

// Each step of a client takes some tenths of a second. Node accepts one connection in each turn of the event loop, so
// a new connection behind hundreds of others waits for as many turns.

/** Creates turns with a clock that only `work` moves, and counts the turns of the event loop. */
function slowTurns() {
  let [nowMs, turn] = [0, 0];
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const countTurns = () => {
    turn += 1;
    timer = setImmediate(countTurns);
  };
  let timer = setImmediate(countTurns);
  onTestFinished(() => {
    clearImmediate(timer);
    clock.mockRestore();
  });
  const work = (ms: number) => {
    nowMs += ms;
    return turn;
  };
  return { turns: new ReplyTurns(new UnreadReplies(systemClock, 1000)), work };
}

test('18.1538: attack: the long steps of a client follow each other in each turn of the event loop', async () => {
  const { turns, work } = slowTurns();
  const take = (caller: string) => turns.take(caller, async () => work(200), 'refuse');
  const [first, second, other] = await Promise.all([take('a'), take('a'), take('b')]);
  expect(second - first).toBeGreaterThanOrEqual(200);
  // The pause applies only to the client that caused it.
  expect(other - first).toBeLessThan(5);
});

test('18.1538: attack: a client waits for each reply, and then starts its next long step at once', async () => {
  const { turns, work } = slowTurns();
  const take = () => turns.take('a', async () => work(200), 'refuse');
  const first = await take();
  expect((await take()) - first).toBeGreaterThanOrEqual(200);
});

test('18.1538: attack: the starts of requests with large bodies follow each other in each turn of the event loop', async () => {
  const { turns, work } = slowTurns();
  const start = async () => {
    await turns.start('a');
    return work(100);
  };
  const [first = 0, second = 0] = await Promise.all([start(), start()]);
  expect(second - first).toBeGreaterThanOrEqual(99);
});

test('short steps follow each other without a long pause', async () => {
  const { turns, work } = slowTurns();
  const steps = Array.from({ length: 50 }, () => turns.take('a', async () => work(0), 'refuse'));
  const at = await Promise.all(steps);
  expect((at.at(-1) ?? 0) - (at[0] ?? 0)).toBeLessThanOrEqual(150);
  await nextTurn();
});
