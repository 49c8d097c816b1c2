import { useEffect, useRef, useState } from 'react';
import type { Key } from '../../input/keys/key.ts';
import { type Editor, useEditor } from '../../input/prompt/use-editor.ts';
import type { ChatApp } from '../chat-app.ts';

interface SideEditor {
  readonly editor: Editor;
  /** What was wrong with what was typed. */
  readonly problem: string | undefined;
}

/** A second editor, for reasons and answers, so that the message that was begun stays as it is. */
export function useSideEditor(app: ChatApp, width: number): SideEditor {
  const { asking } = app;
  const { side } = asking;
  const [problem, setProblem] = useState<string>();
  // Keys that come together are told one after the other, before anything is drawn again.
  const isTyped = useRef(false);
  const isEmpty = () => !isTyped.current && editor.state.text.trim() === '';
  const onKey = (key: Key): boolean => {
    if (key.type === 'text' || key.type === 'paste') isTyped.current = true;
    if (isBack(key)) asking.leaveSide();
    const isEmptyAnswer = isEnter(key) && side?.mayBeEmpty === true && isEmpty();
    if (isEmptyAnswer) asking.submitSide('');
    return isBack(key) || isEmptyAnswer;
  };
  const onSubmit = (text: string) => {
    const wrong = asking.submitSide(text);
    setProblem(wrong);
    if (wrong !== undefined) editor.dispatch({ type: 'set', text });
  };
  const editor = useEditor({
    ...{ onSubmit, onKey, onStop: app.stop, onLeave: () => asking.leaveSide() },
    ...{ isBusy: false, width, clock: app.clock, isActive: side !== undefined },
  });
  const { dispatch, state } = editor;
  useEffect(() => {
    setProblem(undefined);
    dispatch({ type: 'set', text: side?.text ?? '' });
  }, [side, dispatch]);
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
