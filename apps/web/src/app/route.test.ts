import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hrefOf, type Route, routeOf } from './route.tsx';

const name = fc
  .string({ minLength: 1, unit: 'grapheme' })
  .filter((text) => text.isWellFormed() && !/^\.{1,2}$/.test(text));
const route: fc.Arbitrary<Route> = fc.oneof(
  fc.record({ page: fc.constant('new' as const), agent: fc.option(name, { nil: undefined }) }),
  fc.record({
    page: fc.constantFrom('task' as const, 'inspect' as const),
    id: name,
    at: fc.option(fc.nat(), { nil: undefined }),
  }),
  fc.record({
    page: fc.constant('overview' as const),
    range: fc.option(name, { nil: undefined }),
    agent: fc.option(name, { nil: undefined }),
    model: fc.option(name, { nil: undefined }),
  }),
  fc.record({
    page: fc.constant('experiments' as const),
    path: fc.constantFrom('', '/refunds', '/refunds?variant=brief&other_experiment=refunds-2'),
  }),
  fc.constant({ page: 'design' as const }),
);

test('routes and URLs convert in both directions', () => {
  fc.assert(
    fc.property(route, (one) => {
      expect(routeOf(hrefOf(one))).toEqual(one);
    }),
  );
});

test('an unknown URL is the start page', () => {
  for (const href of ['/', '/app', '/app/nothing', '/app/tasks/', '/tasks/abc'])
    expect(routeOf(href)).toEqual({ page: 'new', agent: undefined });
  expect(routeOf('/app/tasks/a?at=-1')).toEqual({ page: 'task', id: 'a', at: undefined });
});
