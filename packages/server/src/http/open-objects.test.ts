import { expect, test } from 'vitest';
import { z } from 'zod';
import { closedObject } from '../contract/closed-object.ts';
import { openObjectsIn } from './open-objects.ts';
import { route } from './route.ts';

const open = z.object({ a: z.string() });
const closed = closedObject({ a: z.string() });

test.each([
  ['body', open],
  ['body.list[]', closedObject({ list: z.array(open).nullish() })],
  ['body.map[]', closedObject({ map: z.record(z.string(), open) })],
  ['body|1', z.union([closed, open])],
  ['body.a', closedObject({ a: open.default({ a: '' }).optional() })],
  ['body', open.transform((value) => value)],
  ['body (lazy)', z.lazy(() => open)],
])('an object at %s that drops unknown fields is found', (place, schema) => {
  expect(openObjectsIn(schema)).toEqual([place]);
});

test.each([closed, z.looseObject({ a: z.string() }), closedObject({ list: z.array(closed) })])(
  'a schema that refuses or keeps them is accepted',
  (schema) => {
    expect(openObjectsIn(schema)).toEqual([]);
  },
);

test('a route whose body drops unknown fields cannot be defined', () => {
  const define = () =>
    route({
      ...{ method: 'POST', path: '/x', summary: '', body: open, reply: z.object({}) },
      handle: async () => undefined,
    });
  expect(define).toThrow('POST /x drops unknown fields of body');
});
