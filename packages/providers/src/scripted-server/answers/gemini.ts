import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import { ScriptedServerError } from '../script.ts';
import type { AnswerPlan, PlannedCall } from './answer-plan.ts';
import { failureEvent, wireStopReason } from './stops-and-failures.ts';
import type { WireUsage } from './wire-answer.ts';

/**
 * Returns the events of a Gemini stream. Each event is a complete response object that contains the next
 * parts. Calls are not split. The last event has the finish reason.
 */
export function geminiEvents(plan: AnswerPlan): readonly JsonObject[] {
  const parts: readonly (readonly JsonObject[])[] = [
    ...plan.reasoning.map((text) => [{ text, thought: true }]),
    ...plan.text.map((text) => [{ text }]),
    ...(plan.toolCalls.length > 0 ? [callParts(plan)] : []),
  ];
  return [...parts.map((some) => event(plan, some)), ending(plan)];
}

/**
 * Returns the parts of the calls. Parallel calls are in one event, and only the first call has a signature.
 */
function callParts({ toolCalls, signature }: AnswerPlan): readonly JsonObject[] {
  return toolCalls.map((call, index) => ({
    functionCall: {
      name: call.name,
      ...(call.arguments !== '' && { args: argumentsOf(call) }),
      ...(call.givenId !== undefined && { id: call.givenId }),
    },
    ...(signature !== undefined && index === 0 && { thoughtSignature: signature }),
  }));
}

function argumentsOf(call: PlannedCall): JsonValue {
  const parsed = parseJson(call.arguments);
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  const state = `the arguments of ${call.name} are not a JSON object`;
  throw new ScriptedServerError(
    'not_on_wire',
    `gemini can only send JSON objects: ${state}; choose another wire`,
  );
}

function ending(plan: AnswerPlan): JsonObject {
  if (plan.failure) return failureEvent('gemini', plan.failure, 0);
  const { signature, toolCalls } = plan;
  const isSigned = signature !== undefined && toolCalls.length === 0;
  const part = { text: '', ...(isSigned && { thoughtSignature: signature }) };
  return event(plan, [part], wireStopReason('gemini', plan.stop));
}

function event(plan: AnswerPlan, parts: readonly JsonObject[], finishReason?: string): JsonObject {
  const content = { parts, role: 'model' };
  const isLast = finishReason !== undefined;
  return {
    candidates: [{ content, ...(isLast && { finishReason }), index: 0 }],
    ...(plan.usage && { usageMetadata: isLast ? usageOf(plan.usage) : promptOf(plan.usage) }),
    modelVersion: plan.model,
    responseId: plan.id,
  };
}

/** Returns the part of the usage that is known before the end of the answer. */
function promptOf({ input }: WireUsage): JsonObject {
  return { promptTokenCount: input, totalTokenCount: input };
}

/**
 * Returns the usage in the format of this API, in which the token count of the candidates does not include
 * thoughts.
 */
function usageOf({ input, output, cacheRead, reasoning }: WireUsage): JsonObject {
  return {
    promptTokenCount: input,
    ...(cacheRead !== undefined && { cachedContentTokenCount: cacheRead }),
    candidatesTokenCount: output - (reasoning ?? 0),
    totalTokenCount: input + output,
    ...(reasoning !== undefined && { thoughtsTokenCount: reasoning }),
  };
}
