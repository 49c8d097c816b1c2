import { describe, expect, test } from 'vitest';
import { LogBuilder, notifyAll, stop } from '../testing/log-builder.ts';
import { type ChannelEntry, channelObserver } from './channel-observer.ts';

function factsOf(count: number): LogBuilder {
  const story = new LogBuilder();
  for (let left = count; left > 0; left--) story.fact({ type: 'turn_finished', stop });
  return story;
}

const eventsIn = (story: LogBuilder) => story.observed.flatMap(({ events }) => events);

async function readToEnd(channel: AsyncIterable<ChannelEntry>): Promise<readonly ChannelEntry[]> {
  const entries: ChannelEntry[] = [];
  for await (const entry of channel) entries.push(entry);
  return entries;
}

describe('a channel', () => {
  test('returns events from before and during reading, and ends when it is closed', async () => {
    const story = factsOf(5);
    const { observed: told } = story;
    const channel = channelObserver();
    notifyAll(channel.observe, told.slice(0, 2));
    const reading = readToEnd(channel);
    for (const one of told.slice(2)) {
      await Promise.resolve();
      notifyAll(channel.observe, [one]);
    }
    channel.close();
    expect(await reading).toEqual(eventsIn(story));
  });

  test('returns buffered events after close, and nothing later', async () => {
    const story = factsOf(3);
    const channel = channelObserver();
    notifyAll(channel.observe, story.observed.slice(0, 2));
    channel.close();
    notifyAll(channel.observe, story.observed.slice(2));
    expect(await readToEnd(channel)).toEqual(eventsIn(story).slice(0, 2));
  });

  test('serves reads in the order of the requests', async () => {
    const story = factsOf(2);
    const channel = channelObserver();
    const reader = channel[Symbol.asyncIterator]();
    const reads = [reader.next(), reader.next(), reader.next()];
    notifyAll(channel.observe, story.observed);
    channel.close();
    const values = (await Promise.all(reads)).map(({ value }) => value);
    expect(values).toEqual([...eventsIn(story), undefined]);
  });

  test('reports how many events were dropped', async () => {
    const channel = channelObserver({ maxEvents: 2 });
    const story = factsOf(5);
    notifyAll(channel.observe, story.observed);
    channel.close();
    const dropped = { type: 'dropped', content: 0, facts: 3 };
    expect(await readToEnd(channel)).toEqual([dropped, ...eventsIn(story).slice(3)]);
  });

  test('can be left by its reader, even while a read waits', async () => {
    const channel = channelObserver();
    const reader = channel[Symbol.asyncIterator]();
    const waiting = reader.next();
    await reader.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    notifyAll(channel.observe, factsOf(1).observed);
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });

  test('keeps nothing for a reader that has left', async () => {
    const channel = channelObserver();
    notifyAll(channel.observe, factsOf(3).observed);
    const reader = channel[Symbol.asyncIterator]();
    await reader.next();
    await reader.return?.();
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });

  test('has one reader', () => {
    const channel = channelObserver();
    channel[Symbol.asyncIterator]();
    expect(() => channel[Symbol.asyncIterator]()).toThrow(/it has one reader/);
  });

  test.each([0, -1, 1.5, Number.NaN, Infinity])('rejects a limit of %s events', (maxEvents) => {
    expect(() => channelObserver({ maxEvents })).toThrow(
      /maxEvents must be an integer of at least 1/,
    );
  });
});
