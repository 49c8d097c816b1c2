import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import {
  createMessageSchema,
  createMessagesSchema,
  sendEventSchema,
  updateMessagesSchema,
} from '../contract/request-bodies.ts';
import { validate } from '../http/request-input.ts';
import { chatBodySchema } from './chat/chat-body.ts';

// A body of 1 MiB can have a million faults. Collecting all of them kept the server busy for 11 s. A token
// for one task was sufficient for the attack.

const text = { type: 'text', author: 'user', content: '' };
const list = (count: number, value: unknown) => Array.from({ length: count }, () => value);

const bodies: readonly (readonly [string, z.ZodType, unknown])[] = [
  [
    'attachments',
    createMessageSchema,
    { task_id: 'a', content: { ...text, attachments: list(346_000, {}) } },
  ],
  [
    'attachments that are numbers',
    sendEventSchema,
    { task_id: 'a', content: { ...text, attachments: list(500_000, 1) } },
  ],
  [
    'summaries',
    createMessageSchema,
    { task_id: 'a', content: { type: 'reasoning', author: 'user', summary: list(500_000, 1) } },
  ],
  [
    'pieces of reasoning',
    createMessageSchema,
    {
      task_id: 'a',
      content: { type: 'reasoning', author: 'user', summary: [], content: list(500_000, 1) },
    },
  ],
  [
    'attachments of many messages',
    createMessagesSchema,
    { task_id: 'a', contents: list(1000, { ...text, attachments: list(300, {}) }) },
  ],
  [
    'changed messages',
    updateMessagesSchema,
    {
      task_id: 'a',
      updates: Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [n, 1])),
    },
  ],
  [
    'parts of chat messages',
    chatBodySchema,
    { id: 'a', messages: list(10_000, { role: 'user', parts: list(37, 1) }) },
  ],
];

describe('a body with very many faults', () => {
  test.for(bodies)('attack: faults of %s are not all collected', ([, schema, body]) => {
    let message = '';
    try {
      validate(schema, body, 'the body');
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain('Cannot accept the body: ');
    // The time depends on the number of faults that are collected.
    expect(message).not.toMatch(/and \d{2,} more/);
  });
});
