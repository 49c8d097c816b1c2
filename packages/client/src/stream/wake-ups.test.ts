import { Window } from 'happy-dom';
import { expect, test } from 'vitest';
import { pageWakeUps, type WakeUp, wakeUpsOf } from './wake-ups.ts';

test('a page tells when it is online, offline and visible, until nobody listens', async () => {
  const window = new Window();
  const { document } = window;
  let visibilityState = 'visible';
  Object.defineProperty(document, 'visibilityState', { get: () => visibilityState });
  const heard: WakeUp[] = [];
  const stop = wakeUpsOf(window as never)((what) => heard.push(what));
  const happen = () => {
    for (const name of ['offline', 'online']) window.dispatchEvent(new window.Event(name));
    document.dispatchEvent(new window.Event('visibilitychange'));
  };
  happen();
  visibilityState = 'hidden';
  document.dispatchEvent(new window.Event('visibilitychange'));
  visibilityState = 'visible';
  window.dispatchEvent(new window.Event('pageshow'));
  expect(heard).toEqual(['offline', 'online', 'visible', 'visible']);
  stop();
  happen();
  expect(heard).toHaveLength(4);
  await window.happyDOM.close();
});

test('without a page there are no wake-ups', () => {
  const stop = pageWakeUps(() => expect.fail());
  expect(stop).not.toThrow();
});
