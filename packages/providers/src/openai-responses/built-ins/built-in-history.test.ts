import { type Item, itemId, type JsonObject, type Part } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import type { DeclaredBuiltInTool } from '../../contract/built-in-tool.ts';
import { responsesFaults } from '../../scripted-server/rules/openai-responses.ts';
import { fetchOf, sseOf } from '../../testing/fetch-of.ts';
import { openaiResponses } from '../provider.ts';

const user: Item = { id: itemId('user'), kind: 'user', parts: [{ kind: 'text', text: 'Go' }] };

/** Any output item of a response, without its ids. */
const anyItem: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.constant({ type: 'reasoning', summary: [], encrypted_content: 'sealed' }),
  fc.constant({ type: 'reasoning', summary: [] }),
  fc.constant({ type: 'function_call', name: 'tide', arguments: '{}' }),
  fc.constant({ type: 'web_search_call', status: 'completed' }),
  fc.record({
    type: fc.constant('shell_call'),
    action: fc.record({ commands: fc.array(fc.string()), timeout_ms: fc.constant(null) }),
  }),
  fc.record({
    type: fc.constant('local_shell_call'),
    action: fc.record({ command: fc.array(fc.string()), env: fc.constant({}) }),
  }),
  fc.record({
    type: fc.constant('apply_patch_call'),
    operation: fc.record({ type: fc.constant('delete_file'), path: fc.string() }),
    created_by: fc.constant('model'),
  }),
  fc.record({
    type: fc.constant('computer_call'),
    action: fc.constant({ type: 'screenshot' }),
    pending_safety_checks: fc.constantFrom([], [{ id: 'sc_1' }]),
  }),
  fc.record({
    type: fc.constant('tool_search_call'),
    execution: fc.constantFrom('client', 'server'),
    arguments: fc.constantFrom({}, '{"goal":"a"}', null),
  }),
  fc.record({
    type: fc.constant('mcp_approval_request'),
    name: fc.string(),
    server_label: fc.string(),
    arguments: fc.constantFrom('{}', 'no JSON'),
  }),
);

const anyResult = fc.record({
  text: fc.string(),
  isError: fc.boolean(),
  value: fc.constantFrom(
    undefined,
    { exitCode: 3 },
    { timedOut: true },
    { tools: [{ name: 'a' }] },
  ),
  hasPicture: fc.boolean(),
});

const answering: readonly DeclaredBuiltInTool[] = ['openai.shell', 'openai.computer'];

test('19.4: any calls of built-in tools, with any results, become a valid request', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyItem, { minLength: 1, maxLength: 6 }),
      anyResult,
      fc.boolean(),
      async (given, { text, isError, value, hasPicture }, isStreamed) => {
        const output = given.map((item, index) => ({
          id: `item_${index}`,
          ...(item['type'] === 'reasoning' || item['type'] === 'mcp_approval_request'
            ? {}
            : { call_id: `call_${index}`, status: 'completed' }),
          ...item,
        }));
        const events = isStreamed
          ? output.flatMap((item, output_index) => [
              { type: 'response.output_item.added', output_index, item },
              { type: 'response.output_item.done', output_index, item },
            ])
          : [];
        const end = { type: 'response.completed', response: { status: 'completed', output } };
        const { fetch, requests } = fetchOf([sseOf([...events, end])]);
        const provider = openaiResponses({ model: 'gpt-5.1', apiKey: 'key', fetch });
        const tools = answering.map((answers, index) => ({
          name: `tool${index}`,
          inputSchema: { type: 'object' },
          answers,
        }));
        const { item, error, stop } = await provider.complete({ items: [user], tools });
        expect(error).toBeUndefined();
        const picture: Part = {
          kind: 'media',
          mimeType: 'image/png',
          source: { type: 'bytes', bytes: Uint8Array.of(1) },
        };
        const results = item.parts.flatMap((part): Part[] =>
          part.kind === 'tool_call'
            ? [
                {
                  kind: 'tool_result',
                  toolCallId: part.toolCallId,
                  name: part.name,
                  text,
                  isError,
                  ...(value && { value }),
                  ...(hasPicture && { attachments: [picture] }),
                },
              ]
            : [],
        );
        expect(stop.reason).toBe(results.length > 0 ? 'tool_use' : 'stop');
        const answer: Item = { id: itemId('tool'), kind: 'tool', parts: results };
        const items = [user, item, ...(results.length > 0 ? [answer] : []), user];
        await provider.complete({ items, tools });
        expect(responsesFaults(requests[1]?.body, { takesAnyIds: true })).toEqual([]);
      },
    ),
    { numRuns: runs(100) },
  );
});
