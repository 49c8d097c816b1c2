import type { Part } from '@millrace/core';
import type { ModelRequest } from '@millrace/providers';
import { vendors } from '../models/vendors.ts';
import { callPart, type DemoContext, quoted, reasoningPart, toolNames } from './answer-parts.ts';
import { type Conversation, readConversation } from './conversation.ts';
import { asksForEssay, essayParts, interruptedSection, isEssayFinished } from './essay.ts';
import { sampleValue } from './sample-value.ts';
import { tourEnd, tourStep } from './tour.ts';

type Parts = readonly (Part | string)[];

/**
 * Returns the next answer of the demo. The answer depends only on the request, so it is also
 * correct in a resumed session.
 */
export function demoAnswer(request: ModelRequest, base: Omit<DemoContext, 'tools'>): Parts {
  if (request.output !== undefined) {
    return [{ kind: 'structured', value: sampleValue(request.output.schema) }];
  }
  const conversation = readConversation(request.items);
  const context = { ...base, tools: toolNames(request.tools) };
  if (isSummaryRequest(conversation.latest)) return [summaryText(conversation)];
  const parts = answer(conversation, context);
  return conversation.isNew ? withNote(parts, interruptionNote(conversation)) : parts;
}

function answer(conversation: Conversation, context: DemoContext): Parts {
  const { latest, isNew, steps, interrupted } = conversation;
  if (isNew && asksAboutDemo(latest)) return [aboutDemo()];
  const section = interrupted === undefined ? undefined : interruptedSection(interrupted);
  if (isNew && section !== undefined) return essayParts(section);
  if (isNew && asksForEssay(latest)) return essayParts(0);
  const task = steps.findLast(({ name }) => name === 'task');
  if (task !== undefined) return [subAgentReport(task.result.text)];
  if (isNew && asksForSubAgent(latest) && context.tools.has('task'))
    return startSubAgent(latest, context);
  if (steps.length > 0 || !isTourDone(conversation) || asksForTour(latest))
    return tourStep(conversation, context);
  return isEssayFinished(conversation.answers) ? [finalText] : essayParts(0);
}

const finalText = `That was everything: I am a script and have nothing more to show.

- Type **tour** and I explore the folder again and count the visit.
- Type **story** for a long answer that you can interrupt.
- Ask **what are you?** to learn how to use a real model.
- Type **sub-agent** and another agent explores the folder for me.
`;

/** Returns a note if the user interrupted the answer, or sent a message during the work. */
function interruptionNote(conversation: Conversation): string | undefined {
  const { interrupted, latest, steps, files } = conversation;
  if (files.length > 0) return `I got these files:\n\n${files.join('\n')}`;
  if (asksAboutDemo(latest)) return undefined;
  if (interrupted !== undefined) {
    return 'You stopped me. My text so far is stored, as you can see. I continue.';
  }
  return steps.length > 0
    ? `I received ${quoted(latest)} while I was working. I continue.`
    : undefined;
}

/** Adds the note before the first text. Reasoning stays before the note. */
function withNote(parts: Parts, note: string | undefined): Parts {
  if (note === undefined) return parts;
  const at = parts.findIndex((part) => typeof part === 'string');
  if (at === -1) return [`${note}\n`, ...parts];
  return parts.map((part, index) => (index === at ? `${note}\n\n${String(part)}` : part));
}

function isTourDone({ answers }: Conversation): boolean {
  return answers.some((text) => text.includes(tourEnd));
}

function asksForTour(text: string): boolean {
  return /\b(?:tour|again|look around|edit|write)\b/i.test(text);
}

function asksForSubAgent(text: string): boolean {
  return /\b(?:sub-?agents?|delegate)\b/i.test(text);
}

function startSubAgent(latest: string, context: DemoContext): Parts {
  const agent = /\bworker\b/i.test(latest) ? 'worker' : 'explore';
  const task = 'Look around in this folder and report what it is about.';
  const words = `I give this task to another agent, **${agent}**. It works in its own session.\n`;
  return [
    reasoningPart(
      'Another agent can do this for me. It does not see our conversation, so the task must contain everything.',
    ),
    words,
    ...callPart(context, 'task', { agent, task }),
  ];
}

/**
 * Returns the report of a sub-agent as a quotation. The closing words of the tour are removed,
 * because they address the user.
 */
function subAgentReport(text: string): string {
  const [report = ''] = text.split(tourEnd, 1);
  const lines = report.trim().split('\n');
  return `The other agent has finished. This is its report:\n\n${lines.map((line) => `> ${line}`).join('\n')}\n`;
}

/**
 * Returns true if the text asks for a summary. The agent loop sends this request when a
 * conversation is long.
 */
function isSummaryRequest(text: string): boolean {
  return text.startsWith('Summarise the conversation so far');
}

function summaryText(conversation: Conversation): string {
  const toured = isTourDone(conversation) ? tourEnd : 'There was no tour yet.';
  const essayNote = isEssayFinished(conversation.answers) ? ' The long answer was completed.' : '';
  return `A summary by the demo. Requests: ${conversation.requests - 1}. ${toured}${essayNote}`;
}

const aboutPattern =
  /\b(?:who|what) (?:exactly )?are you\b|\bwhat is (?:this|millrace|the demo)\s*\?|\b(?:which|what) (?:llm|model)\b|\bare you (?:a |an )?(?:real|bot|script|human|ai|llm|model|claude|gpt|gemini)\b|\breal model\b|\bapi keys?\b/i;

/** Returns true if the user asks about the demo itself. */
function asksAboutDemo(text: string): boolean {
  return aboutPattern.test(text);
}

/** Explains what the demo is and how to use a real model. */
function aboutDemo(): string {
  const variables = vendors.flatMap(({ models, keyVariables: [variable] }) =>
    models.length > 0 && variable !== undefined ? [`- \`${variable}\``] : [],
  );
  return `I am the demo model of Millrace: a script, not a language model. I do not understand your messages. The loop, the tools, the approvals and the session are real.

For a real model, set one of these variables and start again:

${variables.join('\n')}

A local model server works too: Ollama, LM Studio, llama.cpp, vLLM or LiteLLM. Use \`/model\` to choose a model.
`;
}
