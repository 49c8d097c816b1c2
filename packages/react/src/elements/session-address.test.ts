import { expect, test } from 'vitest';
import { readAddress } from './session-address.ts';

const page = 'https://site.example/news/today.html';

test.each([
  ['https://agents.example/tasks/4f1c', 'https://agents.example/', '4f1c'],
  ['https://agents.example/tasks/4f1c/', 'https://agents.example/', '4f1c'],
  ['https://agents.example/app/tasks/4f1c?at=3', 'https://agents.example/', '4f1c'],
  ['https://agents.example/api/agents/tasks/a%20b', 'https://agents.example/api/agents/', 'a b'],
  ['/tasks/4f1c', 'https://site.example/', '4f1c'],
  ['http://127.0.0.1:5003/tasks/4f1c', 'http://127.0.0.1:5003/', '4f1c'],
])('%s is a session of %s', (src, server, taskId) => {
  expect(readAddress(src, page)).toEqual({ server, taskId });
});

test.each([
  ...['javascript:alert(1)//tasks/4f1c', 'data:text/html,/tasks/4f1c', 'file:///tasks/4f1c'],
  ...['https://agents.example/', 'https://agents.example/tasks/', 'https://', ''],
])('attack: %j is not a session', (src) => {
  expect(() => readAddress(src, page)).toThrow(/not the URL of a session/);
});

test('attack: a password in the address is refused, and not repeated', () => {
  const src = 'https://ann:secret@agents.example/tasks/4f1c';
  expect(() => readAddress(src, page)).toThrow(/contains a password/);
  expect(() => readAddress(src, page)).not.toThrow(/secret/);
});
