import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fifo } from './fifo.ts';

test('what goes in comes out in order, however it is used', () => {
  const steps = fc.array(fc.oneof(fc.constant('shift' as const), fc.nat()), {
    maxLength: 200,
    size: 'max',
  });
  fc.assert(
    fc.property(steps, (all) => {
      const fifo = new Fifo<number>();
      const model: number[] = [];
      for (const step of all) {
        if (step === 'shift') expect(fifo.shift()).toBe(model.shift());
        else {
          fifo.push(step);
          model.push(step);
        }
        expect([fifo.size, fifo.first]).toEqual([model.length, model[0]]);
      }
    }),
  );
});

test('a long one gives back the places that were taken', () => {
  const fifo = new Fifo<number>();
  for (let at = 0; at < 5000; at++) fifo.push(at);
  for (let at = 0; at < 4000; at++) expect(fifo.shift()).toBe(at);
  fifo.push(5000);
  expect([fifo.first, fifo.size]).toEqual([4000, 1001]);
});
