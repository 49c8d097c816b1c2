import { expect, test } from 'vitest';
import { addressOf, localServers } from './local-servers.ts';

const [ollama, studio] = localServers;

test.each([
  ['127.0.0.1:5000', 'http://127.0.0.1:5000/v1'],
  [':5000', 'http://127.0.0.1:5000/v1'],
  ['0.0.0.0', 'http://127.0.0.1:11434/v1'],
  ['there', 'http://there:11434/v1'],
  ['http://there:1', 'http://there:1/v1'],
  ['https://there', 'https://there:443/v1'],
  ['', 'http://127.0.0.1:11434/v1'],
  ['http://[', 'http://127.0.0.1:11434/v1'],
])('with OLLAMA_HOST %j, Ollama is at %s', (OLLAMA_HOST, address) => {
  if (ollama === undefined || studio === undefined) throw new Error('There are none');
  expect(addressOf(ollama, { OLLAMA_HOST })).toBe(address);
  expect(addressOf(studio, { OLLAMA_HOST })).toBe('http://127.0.0.1:1234/v1');
});
