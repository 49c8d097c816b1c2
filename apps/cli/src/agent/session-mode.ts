import type { SessionMode } from '../contract/config.ts';

interface ModeTexts {
  /** A few words for the status line. */
  readonly label: string;
  /** A sentence that describes the mode. */
  readonly about: string;
}

/** The texts about each mode that the user sees. */
export const modeTexts: Readonly<Record<SessionMode, ModeTexts>> = {
  plan: {
    label: 'plan mode',
    about: 'The agent only reads and proposes a plan. It changes no file.',
  },
  ask: {
    label: 'asks first',
    about:
      'Reading files in this folder and read-only commands are allowed. Anything else that no rule covers needs your approval.',
  },
  'accept-edits': {
    label: 'accepts edits',
    about:
      'The agent changes files in this folder without a question. Commands and protected files need your approval.',
  },
  auto: {
    label: 'auto in the sandbox',
    about:
      'The agent changes files in this folder and runs commands in the sandbox without a question. Calls that name protected files, and commands that leave the sandbox, need your approval.',
  },
  allow: {
    label: 'asks nothing (--yes)',
    about: 'Everything is allowed unless a rule denies it.',
  },
  'read-only': {
    label: 'read-only',
    about: 'Nothing can be changed, and no command can run.',
  },
};

interface OfferedModesOptions {
  /** The mode in which the session started. */
  readonly first: SessionMode;
  readonly hasSandbox: boolean;
}

/**
 * Returns the modes that the user can choose, in the order of Shift-Tab. A read-only session stays
 * read-only, because its agent has no other tools. `allow` is offered only if the user started with it.
 */
export function offeredModes({ first, hasSandbox }: OfferedModesOptions): readonly SessionMode[] {
  if (first === 'read-only') return ['read-only'];
  return [
    ...(['ask', 'accept-edits'] as const),
    ...(hasSandbox ? (['auto'] as const) : []),
    ...(first === 'allow' ? (['allow'] as const) : []),
    'plan',
  ];
}

const openTag = '<mode>\n';
const closeTag = '\n</mode>';

/**
 * The note for the model that a message in plan mode contains. It is part of the message and not of the
 * system prompt, so that a change of the mode does not invalidate the prompt cache.
 */
export const planNote: string = `${openTag}Plan mode: look and propose, and change nothing. Calls that change files are refused, and commands may only read. Ask with ask_user if a decision is the person's. End with the plan as your answer: what you will change and where (path:line), in which order, and how you will check it. The person then decides about it.${closeTag}`;

/** The note for the model in the first message after plan mode. */
export const planOverNote: string = `${openTag}Plan mode is over: you can change files and run commands again.${closeTag}`;

/** Returns true if a text part is a note about the mode. The user does not see such a part. */
export function isModeNote(text: string): boolean {
  return text === planNote || text === planOverNote;
}
