import { type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import { ScriptError } from '../script.ts';
import type { AnswerPlan, PlannedCall } from './answer-plan.ts';
import { failureEvent, wireStopReason } from './stops-and-failures.ts';
import type { WireUsage } from './wire-answer.ts';

/** Whole responses, each with the next parts; calls come whole, and the last event has the stop. */
export function geminiEvents(plan: AnswerPlan): readonly JsonObject[] {
  const parts: readonly (readonly JsonObject[])[] = [
    ...plan.reasoning.map((text) => [{ text, thought: true }]),
    ...plan.text.map((text) => [{ text }]),
    ...(plan.toolCalls.length > 0 ? [callParts(plan)] : []),
  ];
  return [...parts.map((some) => event(plan, some)), ending(plan)];
}

/** Parallel calls come in one event, and only the first one is signed. */
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
  const isObject = parsed.ok && typeof parsed.value === 'object' && !Array.isArray(parsed.value);
  if (isObject && parsed.value !== null) return parsed.value;
  const state = `the arguments of ${call.name} are not a JSON object`;
  throw new ScriptError('not_on_wire', `gemini sends whole objects: ${state}; choose another wire`);
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

/** What is known before the end. */
function promptOf({ input }: WireUsage): JsonObject {
  return { promptTokenCount: input, totalTokenCount: input };
}

/** Here the candidates' tokens are without the thoughts'. */
function usageOf({ input, output, cacheRead, reasoning }: WireUsage): JsonObject {
  return {
    promptTokenCount: input,
    ...(cacheRead !== undefined && { cachedContentTokenCount: cacheRead }),
    candidatesTokenCount: output - (reasoning ?? 0),
    totalTokenCount: input + output,
    ...(reasoning !== undefined && { thoughtsTokenCount: reasoning }),
  };
}
