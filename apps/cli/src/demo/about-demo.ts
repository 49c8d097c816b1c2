import { vendors } from '../models/vendors.ts';

const form =
  /\b(?:who|what) (?:exactly )?are you\b|\bwhat is (?:this|millrace|the demo)\s*\?|\b(?:which|what) (?:llm|model)\b|\bare you (?:a |an )?(?:real|bot|script|human|ai|llm|model|claude|gpt|gemini)\b|\breal model\b|\bapi keys?\b/i;

/** Does somebody want to know what they are talking with? */
export function asksWhatItIs(text: string): boolean {
  return form.test(text);
}

/** What it is and how to get more, honestly. */
export function aboutDemo(): string {
  const variables = vendors.flatMap(({ models, keyVariables: [variable] }) =>
    models.length > 0 && variable !== undefined ? [`- \`${variable}\``] : [],
  );
  return `I am the demo model of Millrace: a script, not a language model. I do not understand what you write. The loop, the tools, the approvals and the session that you see are real.

For a real model, set one of these and start again:

${variables.join('\n')}

A local server will do as well: Ollama, LM Studio, llama.cpp, vLLM or LiteLLM. With \`/model\` you choose among what is there.
`;
}
