import { isJsonObject, type JsonObject } from '@millrace/core';
import type { RouteContext } from '../../http/route.ts';
import { readerOf, withQuestions } from './app-questions.ts';
import type { McpOptions, McpPrompt } from './mcp-options.ts';
import type { McpCaller } from './protocol/caller.ts';
import { field, invalidParams } from './protocol/rpc-message.ts';
import { uriTemplates } from './protocol/uris.ts';

export function listPrompts({ prompts = [] }: McpOptions): JsonObject {
  return {
    prompts: prompts.map(({ name, title, description, arguments: args = [] }) => ({
      ...{ name, ...(title && { title }), ...(description && { description }) },
      ...(args.length > 0 && {
        arguments: args.map((one) => ({
          name: one.name,
          ...(one.description && { description: one.description }),
          ...(one.required !== undefined && { required: one.required }),
        })),
      }),
    })),
  };
}

/** Maximum length of an argument of a prompt. */
const maxArgument = 100_000;

/** Returns the messages of a prompt, or its questions to the user. */
export async function getPrompt(
  params: JsonObject,
  options: McpOptions,
  caller: McpCaller,
  context: RouteContext,
): Promise<JsonObject> {
  const prompt = findPrompt(field(params, 'name'), options);
  const given = field(params, 'arguments') ?? {};
  if (!isJsonObject(given))
    throw invalidParams('Cannot use the prompt: arguments are not an object');
  const args: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== 'string' || value.length > maxArgument)
      throw invalidParams(`Cannot use the prompt: the argument ${name.slice(0, 64)} is not a text`);
    args[name] = value;
  }
  for (const { name, required } of prompt.arguments ?? [])
    if (required === true && args[name] === undefined)
      throw invalidParams(`Cannot use the prompt: the argument ${name} is missing`);
  return withQuestions(params, caller, context, async (reader) => {
    const content = await prompt.get(args, reader);
    const messages =
      typeof content === 'string'
        ? [{ role: 'user', content: { type: 'text', text: content } }]
        : [...content];
    const { description } = prompt;
    return { ...(description && { description }), messages };
  });
}

function findPrompt(name: unknown, { prompts = [] }: McpOptions): McpPrompt {
  const prompt = prompts.find((one) => one.name === name);
  if (prompt !== undefined) return prompt;
  throw invalidParams(`Cannot find the prompt ${String(name).slice(0, 128)}`);
}

const maxValues = 100;

/** The maximum length of a text to complete. An id of a session can have this length. */
const maxTextLength = 1024;

/** Completes an argument of a prompt, or the id of a session. */
export async function complete(
  params: JsonObject,
  options: McpOptions,
  context: RouteContext,
): Promise<JsonObject> {
  const { service } = context;
  const [ref, argument] = [field(params, 'ref'), field(params, 'argument')];
  const [name, text] = [field(argument, 'name'), field(argument, 'value')];
  if (typeof name !== 'string' || typeof text !== 'string')
    throw invalidParams('Cannot complete: argument needs name and value');
  if (text.length > maxTextLength) {
    const tooLong = `value has ${text.length} characters, and the limit is ${maxTextLength}`;
    throw invalidParams(`Cannot complete: ${tooLong}`);
  }
  const values = await (async (): Promise<readonly string[]> => {
    switch (field(ref, 'type')) {
      case 'ref/prompt': {
        const { arguments: args = [] } = findPrompt(field(ref, 'name'), options);
        return (
          (await args.find((one) => one.name === name)?.complete?.(text, readerOf(context))) ?? []
        );
      }
      case 'ref/resource': {
        if (field(ref, 'uri') !== uriTemplates.session || name !== 'session_id') return [];
        const page = { limit: maxValues, pageNumber: 1, orderBy: 'created_at' } as const;
        const list = () => service.tasks.list({ ...page, direction: 'desc', search: text });
        const { data } = await context.inTurn(list, 'refuse');
        return data.map(({ id }) => id).filter((id) => id.startsWith(text));
      }
      default:
        throw invalidParams('Cannot complete: the type of ref is unknown');
    }
  })();
  const hasMore = values.length > maxValues;
  return { completion: { values: values.slice(0, maxValues), hasMore } };
}
