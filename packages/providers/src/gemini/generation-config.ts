import type { JsonObject } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import { thinkingConfig } from './thinking.ts';

/** Undefined where nothing was asked for. */
export function generationConfig(model: string, request: ModelRequest): JsonObject | undefined {
  const { maxOutputTokens, temperature, topP, stopSequences, output, reasoning } = request;
  const thinking = reasoning === undefined ? undefined : thinkingConfig(model, reasoning);
  const config: JsonObject = {
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(stopSequences === undefined ? {} : { stopSequences }),
    ...(output === undefined
      ? {}
      : { responseMimeType: 'application/json', responseJsonSchema: output.schema }),
    ...(thinking === undefined ? {} : { thinkingConfig: thinking }),
  };
  return Object.keys(config).length === 0 ? undefined : config;
}
