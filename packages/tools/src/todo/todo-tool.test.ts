import { type Item, itemId, type Part, toolCallId, toolCallPart } from '@millrace/core';
import { expect, test } from 'vitest';
import { openTasks, readTodo, todoTool } from './todo-tool.ts';

const item = (kind: Item['kind'], ...parts: readonly Part[]): Item => ({
  ...{ id: itemId(`${kind} ${parts.length}`), kind, parts },
});
const call = (id: string, ...tasks: readonly (readonly [text: string, state: string])[]): Item =>
  item(
    'assistant',
    toolCallPart(toolCallId(id), 'todo', {
      tasks: tasks.map(([text, state]) => ({ text, state })),
    }),
  );

test('the input is checked and bounded', () => {
  const task = { text: 'Write tests', state: 'open' };
  expect(readTodo({ tasks: [task] })).toEqual([task]);
  expect(readTodo({ tasks: [] })).toEqual([]);
  for (const bad of [
    { tasks: [{ ...task, state: 'later' }] },
    { tasks: [{ ...task, text: 'x'.repeat(201) }] },
    { tasks: Array.from({ length: 51 }, () => task) },
    { tasks: [{ ...task, text: '' }] },
    {},
    undefined,
  ])
    expect(readTodo(bad)).toBeUndefined();
});

test('the tool answers with the progress', async () => {
  const tool = todoTool();
  const input = {
    tasks: [{ text: 'A', state: 'done' } as const, { text: 'B', state: 'doing' } as const],
  };
  expect(tool.summarize(input)).toBe('Tasks: 1 of 2 done');
  expect(await tool.execute(input, {} as never)).toBe('1 of 2 done');
});

test('the open tasks are those of the last call that did not fail', () => {
  const failed = item('tool', {
    ...{ kind: 'tool_result', toolCallId: toolCallId('c'), name: 'todo' },
    ...{ text: 'invalid', isError: true },
  } as Part);
  const items = [
    call('a', ['Old', 'open']),
    call('b', ['Read', 'done'], ['Fix', 'doing'], ['Test', 'open']),
    call('c', ['Lost', 'open']),
    failed,
  ];
  expect(openTasks(items)).toBe('<open_tasks>\n- (in work) Fix\n- Test\n</open_tasks>');
  expect(openTasks([call('a', ['Read', 'done'])])).toBeUndefined();
  expect(openTasks([])).toBeUndefined();
});

test('without a call, the tasks are those of the earlier summary', () => {
  const kept = '<open_tasks>\n- Test\n</open_tasks>';
  const summary = item('context', { kind: 'text', text: `Done so far: much.\n\n${kept}` });
  const talk = item('user', { kind: 'text', text: 'Go on' });
  expect(openTasks([summary, talk])).toBe(kept);
  expect(openTasks([summary, talk, call('a', ['Test', 'done'])])).toBeUndefined();
});
