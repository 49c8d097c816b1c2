import { expect, test } from 'vitest';
import { sdkFields } from '../packages/providers/src/scripted-server/rules/request-faults.ts';
import { readWireFields } from './wire-fields.ts';

test('the scripted server checks exactly the fields of the SDKs', () => {
  const read = [...readWireFields().values()].map((shapes) => Object.fromEntries(shapes));
  const { anthropic, gemini, 'openai-chat': chat, 'openai-responses': responses } = sdkFields;
  expect(read, 'Run `npm run wire-fields`.').toEqual([anthropic, chat, responses, gemini]);
});
