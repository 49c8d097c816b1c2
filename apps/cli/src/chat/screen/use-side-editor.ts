import { useEffect, useRef, useState } from 'react';
import type { Key } from '../../input/keys/key.ts';
import { type Editor, useEditor } from '../../input/prompt/use-editor.ts';
import type { ChatApp } from '../chat-app.ts';
import type { SideInput } from '../dialog/side-input.ts';

interface SideEditor {
  readonly editor: Editor;
  /** The problem with the typed text. Undefined if there is none. */
  readonly problem: string | undefined;
  /** Applies a key to the open text field. It also works before the field is drawn. */
  readonly press: (key: Key) => void;
}

/**
 * Creates a second editor for reasons and answers. So an unfinished message stays in the prompt.
 */
export function useSideEditor(app: ChatApp, width: number): SideEditor {
  const { dialogs } = app;
  const { sideInput } = dialogs;
  const [problem, setProblem] = useState<string>();
  const opened = useRef<SideInput | undefined>(undefined);
  const onKey = (key: Key): boolean => {
    if (isBack(key)) dialogs.cancelSideInput();
    const isEmpty = editor.currentText().trim() === '';
    const isEmptyAnswer = isEnter(key) && dialogs.sideInput?.mayBeEmpty === true && isEmpty;
    if (isEmptyAnswer) dialogs.submitSideInput('');
    return isBack(key) || isEmptyAnswer;
  };
  const onSubmit = (text: string) => {
    const wrong = dialogs.submitSideInput(text);
    setProblem(wrong);
    if (wrong !== undefined) editor.dispatch({ type: 'set', text });
  };
  const editor = useEditor({
    ...{ onSubmit, onKey, onStop: app.stop, onLeave: () => dialogs.cancelSideInput() },
    ...{ isBusy: false, width, clock: app.clock, isActive: false },
  });
  /** Fills the editor with the text of a field that has just opened. */
  const start = (input: SideInput | undefined) => {
    if (opened.current === input) return;
    opened.current = input;
    setProblem(undefined);
    editor.dispatch({ type: 'set', text: input?.text ?? '' });
  };
  const press = (key: Key) => {
    start(dialogs.sideInput);
    editor.press(key);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new side input starts again
  useEffect(() => start(sideInput), [sideInput]);
  return { editor, problem, press };
}

function isBack(key: Key): boolean {
  if (key.type === 'key') return key.name === 'escape';
  return key.type === 'chord' && key.ctrl && key.char === 'c';
}

function isEnter(key: Key): boolean {
  return key.type === 'key' && key.name === 'enter' && !key.shift && !key.alt && !key.ctrl;
}
