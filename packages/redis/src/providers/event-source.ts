/** The part of Node's EventEmitter that both clients have. */
export interface EventSource {
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  off(event: string, listener: (...args: unknown[]) => void): unknown;
}
