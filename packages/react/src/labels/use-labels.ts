import {
  type Context,
  createContext,
  createElement,
  Fragment,
  type ReactNode,
  useContext,
} from 'react';
import { english } from './en.ts';
import type { Labels } from './labels.ts';

/** The labels of all components below. Default: English. */
export const LabelsContext: Context<Labels> = createContext<Labels>(english);

/** Returns the labels that the application provides. */
export function useLabels(): Labels {
  return useContext(LabelsContext);
}

/** Formats a number in the language of the labels. */
export function numberText({ locale }: Labels, value: number): string {
  return value.toLocaleString(locale);
}

/** Returns a number of characters in words. */
export function countText(labels: Labels, characters: number): string {
  return labels.characterCount(numberText(labels, characters));
}

/** The properties of `Filled`. */
export interface FilledProps {
  readonly text: string;
  readonly parts: readonly ReactNode[];
}

/** Shows a text with elements in the places `{0}`, `{1}` and so on. Each language orders them itself. */
export function Filled({ text, parts }: FilledProps): ReactNode {
  return text
    .split(/\{(\d)\}/)
    .map((piece, at) =>
      createElement(Fragment, { key: at }, at % 2 === 0 ? piece : parts[Number(piece)]),
    );
}
