import { expect, test } from 'vitest';
import { OpenResources } from './open-resources.ts';

test('the end of a block closes everything once, the last one first', async () => {
  const closed: string[] = [];
  {
    await using opened = new OpenResources();
    opened.defer(() => void closed.push('log'));
    opened.defer(async () => void closed.push('rows'));
    expect(closed).toEqual([]);
  }
  expect(closed).toEqual(['rows', 'log']);
});

test('what was moved stays open, until its new owner closes it', async () => {
  const closed: string[] = [];
  const open = async () => {
    await using opened = new OpenResources();
    opened.defer(() => void closed.push('log'));
    return opened.move();
  };
  const all = await open();
  expect(closed).toEqual([]);
  await all.disposeAsync();
  await all.disposeAsync();
  expect(closed).toEqual(['log']);
});

test('a failure does not keep the others open', async () => {
  const closed: string[] = [];
  const all = new OpenResources();
  all.defer(() => void closed.push('log'));
  all.defer(() => Promise.reject(new Error('the rows are locked')));
  await expect(all.disposeAsync()).rejects.toThrow('the rows are locked');
  expect(closed).toEqual(['log']);
  const both = new OpenResources();
  for (const name of ['log', 'rows']) both.defer(() => Promise.reject(new Error(name)));
  await expect(both.disposeAsync()).rejects.toMatchObject({
    errors: [new Error('rows'), new Error('log')],
  });
});
