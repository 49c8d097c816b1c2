import type { Paint, Tone } from './terminal-text.ts';

export interface Manner {
  readonly tone: Tone;
  /** Before its first word. */
  readonly label: string;
  /** What people wait for: it does not wait for what is said aside. */
  readonly isAnswer: boolean;
}

/** Something that is being said, piece by piece. */
interface Voice {
  readonly manner: Manner;
  /** What of it is on the screen. Only ever appended to: to look into a growing text costs its length. */
  shown: string;
  /** What is not yet. */
  waiting: string;
  /** Others spoke since: its next words go on from further up. */
  isCut: boolean;
  /** All is said, and waits to be shown. */
  isOver: boolean;
}

interface StageOptions {
  readonly paint: Paint;
  /** How much others say before a speaker that fell silent loses its place. */
  readonly patience: number;
}

/** However busy the speaker is, no more than this waits. */
const maxWaiting = 16_384;

/**
 * Puts what several voices say at once one after the other, on a screen that only goes forward. One
 * speaks, and the others wait until it is done, or silent for long; so that no two are in one line.
 */
export class TerminalStage {
  readonly #options: StageOptions;
  readonly #voices = new Map<string, Voice>();
  #speaker: Voice | undefined;
  /** What others said since the speaker last spoke. */
  #unheard = 0;
  #isLineStart = true;
  /** A line that may still get its end. */
  #openLine: string | undefined;
  #out = '';

  constructor(options: StageOptions) {
    this.#options = options;
  }

  /** What there is to write since this was last asked. */
  take(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }

  say(id: string, text: string, manner: Manner): void {
    if (text === '') return;
    const voice = this.#voices.get(id) ?? this.#enter(id, manner);
    voice.waiting += text;
    this.#speaker ??= voice;
    if (voice === this.#speaker) return this.#utter(voice);
    this.#unheard += text.length;
    const isWanted = manner.isAnswer && !this.#speaker.manner.isAnswer;
    const isLong = voice.waiting.length > maxWaiting;
    if (isWanted || isLong || this.#unheard > this.#options.patience) this.#utter(voice);
  }

  /** What was said so far, be it on the screen or not. */
  saidBy(id: string): string | undefined {
    const voice = this.#voices.get(id);
    return voice && voice.shown + voice.waiting;
  }

  /** It has said all. */
  finish(id: string): void {
    const voice = this.#voices.get(id);
    if (voice === undefined) return;
    voice.isOver = true;
    if (voice === this.#speaker) this.#leave(id);
    this.#goOn();
  }

  /** It did not say that. Gives what of it is on the screen. The next line comes before others speak. */
  remove(id: string): string {
    const voice = this.#voices.get(id);
    this.#voices.delete(id);
    if (voice !== undefined && voice === this.#speaker) this.#speaker = undefined;
    return voice?.shown ?? '';
  }

  get voices(): readonly string[] {
    return [...this.#voices.keys()];
  }

  /** A line by itself. */
  line(tone: Tone, text: string): void {
    this.#breakLine();
    this.#write(tone, `${text}\n`);
    this.#isLineStart = true;
    this.#goOn();
  }

  /** The beginning of a line that `endLine` may complete. */
  beginLine(key: string, tone: Tone, text: string): void {
    this.#breakLine();
    this.#write(tone, text);
    this.#openLine = key;
  }

  /** Completes the line, if nothing was written since. */
  endLine(key: string, tone: Tone, text: string): boolean {
    if (this.#openLine !== key) return false;
    this.#openLine = undefined;
    this.#write(tone, ` ${text}\n`);
    this.#isLineStart = true;
    return true;
  }

  #enter(id: string, manner: Manner): Voice {
    const voice = { manner, shown: '', waiting: '', isCut: false, isOver: false };
    this.#voices.set(id, voice);
    return voice;
  }

  #utter(voice: Voice): void {
    const text = voice.waiting;
    this.#unheard = 0;
    if (text === '') return;
    const isBegin = voice.shown === '';
    const isSwitch = voice !== this.#speaker;
    if (isBegin || isSwitch || this.#openLine !== undefined) this.#breakLine();
    if (isSwitch && this.#speaker !== undefined) this.#speaker.isCut = this.#speaker.shown !== '';
    this.#speaker = voice;
    this.#write('dim', isBegin ? voice.manner.label : voice.isCut ? '… ' : '');
    this.#write(voice.manner.tone, text);
    this.#isLineStart = text.endsWith('\n');
    voice.shown += text;
    voice.waiting = '';
    voice.isCut = false;
  }

  /** Shows what waits, until somebody speaks who has not said all. */
  #goOn(): void {
    for (const [id, voice] of this.#voices) {
      if (this.#speaker !== undefined) return;
      this.#utter(voice);
      if (voice.isOver) this.#leave(id);
    }
  }

  #leave(id: string): void {
    this.#breakLine();
    this.#voices.delete(id);
    this.#speaker = undefined;
  }

  #breakLine(): void {
    if (this.#isLineStart) return;
    if (this.#speaker !== undefined && this.#openLine === undefined) this.#speaker.isCut = true;
    this.#write('dim', this.#openLine === undefined ? '' : ' …');
    this.#out += '\n';
    this.#openLine = undefined;
    this.#isLineStart = true;
  }

  #write(tone: Tone, text: string): void {
    if (text === '') return;
    this.#out += this.#options.paint(tone, text);
    this.#isLineStart = false;
  }
}
