import { type FormQuestion, formLimits } from './form.ts';

/** Options of `modelQuestion`. */
export interface ModelQuestion {
  /** The message for the model. */
  readonly prompt: string;
  /** Maximum length of the answer, in tokens. */
  readonly maxTokens: number;
  /** Instructions for the model. Default: none. */
  readonly system?: string | undefined;
  /** The name of the question, as in `FormQuestion`. Default: none. */
  readonly key?: string | undefined;
}

/**
 * Creates a question to the model of the client. The answer has the field `text`. A client without a model shows a
 * form with one text field to its user.
 *
 * @example
 * const answer = await context.ask?.(modelQuestion({ prompt: 'Translate: Hello', maxTokens: 100 }));
 */
export function modelQuestion({ prompt, maxTokens, system, key }: ModelQuestion): FormQuestion {
  return {
    message: prompt,
    schema: textForm('text', 'Answer'),
    request: { type: 'model', maxTokens, ...(system !== undefined && { system }) },
    ...(key !== undefined && { key }),
  };
}

/**
 * Creates a question about the folders in which the client works. The answer has the field `folders` with one URI
 * per line. A client without folders shows a form with one text field to its user.
 */
export function foldersQuestion({ key }: Pick<ModelQuestion, 'key'> = {}): FormQuestion {
  return {
    message: 'In which folders do you work? Write one URI per line',
    schema: textForm('folders', 'Folders'),
    request: { type: 'folders' },
    ...(key !== undefined && { key }),
  };
}

function textForm(name: string, title: string) {
  const property = { type: 'string', title, maxLength: formLimits.textLength };
  return { type: 'object', properties: { [name]: property }, required: [name] };
}
