import type { LanguageModelV4CustomPart, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider';
import { type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import { isObject, objectIn, textIn } from '../json/fields.ts';
import type { AssistantContent } from './assistant-content.ts';
import { type SentData, urlData } from './file-part.ts';

type Options = { readonly providerOptions?: Record<string, JsonObject> };

/** What `HostedBlocks` kept, as it is sent again. Nothing for what prompts have no words for. */
export function hostedContent(kept: JsonValue, options: Options): AssistantContent {
  if (!isObject(kept)) return [];
  const toolCallId = textIn(kept, 'toolCallId') ?? '';
  const toolName = textIn(kept, 'toolName') ?? '';
  switch (kept['type']) {
    case 'tool-call': {
      const input = inputOf(textIn(kept, 'input') ?? '{}');
      return [
        { type: 'tool-call', toolCallId, toolName, input, providerExecuted: true, ...options },
      ];
    }
    case 'tool-result':
      return [{ type: 'tool-result', toolCallId, toolName, output: outputOf(kept), ...options }];
    case 'reasoning-file': {
      const [mediaType = '', data] = [textIn(kept, 'mediaType'), dataOf(objectIn(kept, 'data'))];
      return data === undefined ? [] : [{ type: 'reasoning-file', mediaType, data, ...options }];
    }
    case 'custom':
      return [
        {
          type: 'custom',
          kind: textIn(kept, 'kind') as LanguageModelV4CustomPart['kind'],
          ...options,
        },
      ];
    default:
      return [];
  }
}

function inputOf(text: string): JsonValue {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : text;
}

function outputOf({ result = null, isError }: JsonObject): LanguageModelV4ToolResultOutput {
  if (isError === true) return { type: 'error-json', value: result };
  return typeof result === 'string'
    ? { type: 'text', value: result }
    : { type: 'json', value: result };
}

function dataOf(data: JsonObject | undefined): SentData | undefined {
  const [bytes, url] = [textIn(data, 'data'), textIn(data, 'originalUrl') ?? textIn(data, 'url')];
  if (bytes !== undefined) return { type: 'data', data: bytes };
  return url === undefined ? undefined : urlData(url);
}
