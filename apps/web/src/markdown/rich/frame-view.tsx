import { useEffect, useRef, useState } from 'react';
import { withBase } from '../../server/base-path.ts';

/** What a frame shows: a document in HTML, a diagram in the language of Mermaid, or a remote picture. */
export type FrameKind = 'document' | 'diagram' | 'picture';

interface FrameViewProps {
  readonly kind: FrameKind;
  /** The source of the document or the diagram, or the address of the picture. */
  readonly text: string;
  /** The name of the frame for screen readers. Default: what the frame shows. */
  readonly title?: string | undefined;
  /** Called if the text is not a valid diagram, or if the frame cannot load. */
  readonly onFailed: () => void;
}

/** The limits of the height that a frame can choose, in pixels. */
const minHeight = 40;
const maxHeight = 720;
const documentHeight = 420;
const pictureHeight = 254;

const titles = { document: 'Preview of the document', diagram: 'Diagram', picture: 'Picture' };

/**
 * Shows untrusted content in a frame. The sandbox gives the frame an origin of its own, so that its
 * scripts cannot read the page. The policy that the server sends with the frame allows no network.
 */
export function FrameView({ kind, text, title = titles[kind], onFailed }: FrameViewProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(() => startHeight(kind, text));
  useEffect(() => {
    const receive = ({ source, data }: MessageEvent<unknown>) => {
      const content = frame.current?.contentWindow;
      if (content === undefined || content === null || source !== content) return;
      const report = reportOf(data);
      // The frame has an origin that no target can name.
      if (report.frame === 'ready') content.postMessage({ text, isDark: isDark() }, '*');
      if (report.frame === 'failed') onFailed();
      if (report.frame === 'drawn' && kind === 'diagram')
        setHeight(keptHeight(text, report.height));
    };
    window.addEventListener('message', receive);
    return () => window.removeEventListener('message', receive);
  }, [text, kind, onFailed]);
  return (
    <iframe
      ref={frame}
      className="preview-frame"
      title={title}
      data-kind={kind}
      src={withBase(`/frames/${kind}.html`)}
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
      height={height}
    />
  );
}

/**
 * The heights of diagrams that were drawn. The transcript removes what is out of view, so a diagram is
 * drawn again when the user scrolls back. It then has its height from the start, and nothing jumps.
 */
const heights = new Map<string, number>();
const maxHeights = 200;

function startHeight(kind: FrameKind, text: string): number {
  if (kind === 'picture') return pictureHeight;
  return kind === 'document' ? documentHeight : (heights.get(text) ?? minHeight);
}

function keptHeight(text: string, height: number): number {
  const kept = Math.min(maxHeight, Math.max(minHeight, height));
  const [oldest] = heights.keys();
  if (heights.size >= maxHeights && oldest !== undefined) heights.delete(oldest);
  heights.set(text, kept);
  return kept;
}

interface FrameReport {
  readonly frame: 'ready' | 'drawn' | 'failed' | 'unknown';
  readonly height: number;
}

/** Reads a message of a frame. The frame is untrusted, so every field is checked. */
function reportOf(data: unknown): FrameReport {
  const { frame, height } = (data ?? {}) as { readonly frame?: unknown; readonly height?: unknown };
  const isKnown = frame === 'ready' || frame === 'drawn' || frame === 'failed';
  return {
    frame: isKnown ? frame : 'unknown',
    height: Number.isFinite(height) ? Number(height) : 0,
  };
}

function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === undefined
    ? matchMedia('(prefers-color-scheme: dark)').matches
    : theme === 'dark';
}
