export { conformanceCases } from './conformance-cases.ts';
export { ConformanceError } from './observe.ts';
export type {
  ConformanceAnswer,
  ConformanceCase,
  ConformanceLimitation,
  ConformanceSubject,
  ConformanceToolCall,
} from './subject.ts';
