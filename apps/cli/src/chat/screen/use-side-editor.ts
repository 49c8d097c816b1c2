import { useEffect, useRef, useState } from 'react';
import type { Key } from '../../input/keys/key.ts';
import { type Editor, useEditor } from '../../input/prompt/use-editor.ts';
import type { ChatApp } from '../chat-app.ts';

interface SideEditor {
  readonly editor: Editor;
  /** The problem with the typed text. */
  readonly problem: string | undefined;
}

/** A second editor for reasons and answers, so that an unfinished message stays in the prompt. */
export function useSideEditor(app: ChatApp, width: number): SideEditor {
  const { dialogs } = app;
  const { sideInput } = dialogs;
  const [problem, setProblem] = useState<string>();
  // Keys of one chunk arrive before the next render, so the state alone does not show typed text.
  const isTyped = useRef(false);
  const isEmpty = () => !isTyped.current && editor.state.text.trim() === '';
  const onKey = (key: Key): boolean => {
    if (key.type === 'text' || key.type === 'paste') isTyped.current = true;
    if (isBack(key)) dialogs.cancelSideInput();
    const isEmptyAnswer = isEnter(key) && sideInput?.mayBeEmpty === true && isEmpty();
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
    ...{ isBusy: false, width, clock: app.clock, isActive: sideInput !== undefined },
  });
  const { dispatch, state } = editor;
  useEffect(() => {
    setProblem(undefined);
    dispatch({ type: 'set', text: sideInput?.text ?? '' });
  }, [sideInput, dispatch]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was typed has become the state
  useEffect(() => {
    isTyped.current = false;
  }, [state]);
  return { editor, problem };
}

function isBack(key: Key): boolean {
  if (key.type === 'key') return key.name === 'escape';
  return key.type === 'chord' && key.ctrl && key.char === 'c';
}

function isEnter(key: Key): boolean {
  return key.type === 'key' && key.name === 'enter' && !key.shift && !key.alt && !key.ctrl;
}
