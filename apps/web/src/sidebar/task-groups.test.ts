import { expect, test } from 'vitest';
import type { ListedTask } from '../server/directory.ts';
import { loopTask } from '../testing/fake-app.ts';
import { groupTasks } from './task-groups.ts';

const now = new Date(2026, 10, 17, 10).getTime();
const dayMs = 24 * 3600 * 1000;

function task(id: string, daysAgo: number, metadata: object = {}): ListedTask {
  const updated_at = new Date(now - daysAgo * dayMs).toISOString();
  return { ...loopTask(id), updated_at, task_metadata: { ...metadata } };
}

const branchOf = (of: string) => ({ branch: { of, after: null } });

function shape(tasks: readonly ListedTask[]) {
  return groupTasks(tasks, now).map(({ name, month, families }) => [
    name ?? new Date(month ?? 0).toISOString().slice(0, 7),
    families.map((family) => [family.task.id, ...family.branches.map(({ id }) => id)].join(' > ')),
  ]);
}

test('sessions are grouped by the day of their last change', () => {
  const tasks = [
    task('now', 0),
    task('midnight', 9 / 24),
    task('late evening', 11 / 24),
    task('a week', 7),
    task('last month', 20),
    task('same month', 21),
    task('last year', 400),
    { ...loopTask('unknown'), updated_at: null },
  ];
  expect(shape(tasks)).toEqual([
    ['Today', ['now', 'midnight']],
    ['Yesterday', ['late evening']],
    ['Previous 7 days', ['a week']],
    ['2026-10', ['last month', 'same month']],
    ['2025-10', ['last year']],
    ['Earlier', ['unknown']],
  ]);
});

test('pinned sessions come first, then folders by name', () => {
  const tasks = [
    task('new', 0),
    task('old pin', 300, { pinned: true, folder: 'Trips' }),
    task('rome', 40, { folder: 'Trips' }),
    task('bread', 2, { folder: 'Bakery' }),
    task('paris', 3, { folder: 'Trips' }),
    task('odd', 0, { folder: 12, pinned: 'yes' }),
  ];
  expect(shape(tasks)).toEqual([
    ['Pinned', ['old pin']],
    ['Bakery', ['bread']],
    ['Trips', ['paris', 'rome']],
    ['Today', ['new', 'odd']],
  ]);
});

test('a branch is below its origin, and its change moves the whole family up', () => {
  const tasks = [
    task('branch of branch', 0, branchOf('branch')),
    task('other', 1),
    task('branch', 2, branchOf('root')),
    task('root', 30),
    task('orphan', 30.1, branchOf('not in the list')),
  ];
  expect(shape(tasks)).toEqual([
    ['Today', ['root > branch of branch > branch']],
    ['Yesterday', ['other']],
    ['2026-10', ['orphan']],
  ]);
});

test('branches that name each other are shown once each', () => {
  const tasks = [task('a', 0, branchOf('b')), task('b', 0, branchOf('a'))];
  expect(shape(tasks)).toEqual([['Today', ['a > b']]]);
});

test('25.2: the branch that the user keeps is the entry of its session', () => {
  const tasks = [
    task('root', 1, { main_branch: 'kept' }),
    task('kept', 2, branchOf('root')),
    task('other', 3, branchOf('root')),
  ];
  expect(shape(tasks)).toEqual([['Yesterday', ['kept > root > other']]]);
  // A branch that was deleted is not the entry.
  expect(shape(tasks.filter(({ id }) => id !== 'kept'))).toEqual([['Yesterday', ['root > other']]]);
});
