/** Why there is no picture, and what to do about it. */

/** A camera cannot be had, for a reason that browsers have no error for. */
export class NoCamera extends Error {
  constructor(name) {
    super(name);
    this.name = name;
  }
}

const WORDS = {
  Insecure: () => (
    "Browsers give a camera to pages of their own machine, or over TLS. Open this page as "
    + `http://localhost:${location.port || 80} on the machine that the service runs on, or give `
    + "labelwalk serve --certificate and --private-key."
  ),
  Missing: () => "This browser has no way to a camera. Open this page in another one.",
  NotAllowedError: () => (
    "This page may not use the camera. Allow it beside the address, or in the settings of the "
    + "system, and try again."
  ),
  NotFoundError: () => "There is no camera. Plug one in, and try again.",
  NotReadableError: () => (
    "The camera does not answer: another program may have it. Close that, and try again."
  ),
  Unplugged: () => "The camera is gone. Plug it in again, and try again.",
};

/** What to say of an error. */
export const troubleOf = (error) => WORDS[error.name]?.() ?? error.message;
