import type { PromptProps } from '../../input/prompt.tsx';
import type { Editor } from '../../input/use-editor.ts';
import type { SideEdit } from './side-edit.ts';

export interface PromptSetting {
  readonly width: number;
  readonly rows: number;
  readonly isBusy: boolean;
  readonly side: SideEdit | undefined;
  /** What was wrong with what was typed there. */
  readonly problem: string | undefined;
  /** Instead of what the keys do. */
  readonly hint: string | undefined;
}

/** What has to have room beside the prompt, even if that is long. */
const rowsBeside = 9;
const placeholder = 'Say what to do. / for commands, @ for files';

/** The prompt as it fits: fewer rows of it, and no hint, where there is no room. */
export function promptProps({ state, menu }: Editor, setting: PromptSetting): PromptProps {
  const { width, rows, isBusy, side, problem } = setting;
  const most = Math.max(1, rows - rowsBeside);
  const sized = { width, maxRows: Math.min(10, most), maxMenuRows: Math.min(8, most) };
  const hint = side === undefined ? setting.hint : (problem ?? side.title);
  return {
    ...{ state, menu, isBusy, ...sized },
    hint: hint ?? (rows < rowsBeside ? '' : undefined),
    ...(side === undefined && { placeholder }),
  };
}
