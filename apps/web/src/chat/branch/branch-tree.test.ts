import { expect, test } from 'vitest';
import { type BranchTask, branchesAfter } from './branch-tree.ts';

let created = 0;
function task(id: string, branch?: { of: string; after: string | null }): BranchTask {
  created++;
  return {
    id,
    created_at: String(created).padStart(8, '0'),
    task_metadata: branch ? { branch } : null,
  };
}

const a = task('a');
const b = task('b', { of: 'a', after: 'u1' });
const c = task('c', { of: 'b', after: 'u1' });
const d = task('d', { of: 'b', after: 'u2' });
const e = task('e', { of: 'a', after: null });
const other = task('x');
const far = task('y', { of: 'x', after: null });
const all = [far, e, d, c, b, a, other];

test('branches after the same item form one choice, oldest first', () => {
  for (const [at, id] of ['a', 'b', 'c'].entries())
    expect(branchesAfter(all, id, 'u1')).toEqual({ ids: ['a', 'b', 'c'], at });
});

test('a fork of a branch belongs to that branch', () => {
  expect(branchesAfter(all, 'd', 'u1')).toEqual({ ids: ['a', 'b', 'c'], at: 1 });
  expect(branchesAfter(all, 'd', 'u2')).toEqual({ ids: ['b', 'd'], at: 1 });
});

test('without branches there is no choice', () => {
  expect(branchesAfter(all, 'a', 'u9')).toBeUndefined();
  expect(branchesAfter(all, 'other', 'u1')).toBeUndefined();
});

test('unrelated tasks are not branches of each other', () => {
  expect(branchesAfter(all, 'a', null)).toEqual({ ids: ['a', 'e'], at: 0 });
  expect(branchesAfter(all, 'x', null)).toEqual({ ids: ['x', 'y'], at: 0 });
});

test('a cycle of forks does not loop forever', () => {
  const round = [task('p', { of: 'q', after: 'i' }), task('q', { of: 'p', after: 'i' })];
  expect(branchesAfter(round, 'p', 'i')).toEqual({ ids: ['p', 'q'], at: 0 });
});
